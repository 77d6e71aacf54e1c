"""What our own agents remember: the conversation of each turn, and what approved calls came to."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.append_only import append_only
from agents.models import Run, Session
from asks.models import Redemption


class EveTurn(models.Model):
    """What one turn added to its session's conversation, as pydantic-ai's messages in JSON.

    It counts once its run has completed: a run that failed is begun anew. ``forgotten`` is what a
    person had the agent forget.
    """

    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="eve_turn")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="eve_turns")
    messages = models.JSONField(default=list)
    forgotten = models.BooleanField(default=False)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"conversation of run {self.run_id}"


class EveResult(models.Model):
    """What an approved call gave back, kept in the transaction that says that it is done.

    A turn that fails later, or whose worker is lost, tells its model this instead of calling again.
    """

    redemption = models.OneToOneField(
        Redemption, on_delete=models.PROTECT, related_name="eve_result"
    )
    output = models.JSONField(null=True)
    failed = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("pk",)
        triggers = append_only("eve_results")

    def __str__(self) -> str:
        return f"result of redemption {self.redemption_id}"
