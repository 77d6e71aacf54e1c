"""What eve's runtime remembers, and the sessions that eve's own clients opened."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from agents.models import Run, Session
from asks.models import Redemption
from workspace.models.keys import ApiKey


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
        triggers = append_only_triggers("eve_results")

    def __str__(self) -> str:
        return f"result of redemption {self.redemption_id}"


class EveSession(models.Model):
    """The public names of a session: its id on the wire and its continuation token.

    ``key`` opened it, as ``principal``: an agent's key sees only what it opened itself. ``operation``
    is by which its caller knows this opening, if it said, and ``body`` the digest of what was sent.
    """

    session = models.OneToOneField(Session, on_delete=models.PROTECT, related_name="eve")
    public_id = models.CharField(max_length=40, unique=True)
    token = models.CharField(max_length=64)
    key = models.ForeignKey(ApiKey, on_delete=models.PROTECT, related_name="+")
    principal = models.CharField(max_length=200)
    operation = models.CharField(max_length=200, blank=True)
    body = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["principal", "operation"],
                condition=~Q(operation=""),
                name="an_eve_session_is_opened_once",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="eve_sessions_stay", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return self.public_id
