"""Rows of the eve protocol: what the runtime remembers, and the sessions that eve clients opened."""

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

    A row counts once its run has completed; a failed run starts over. ``forgotten`` marks messages
    that were cleared from the agent's memory.
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
    """The result of an approved call, stored in the transaction that marks the call as done.

    If the turn fails later or loses its worker, the model gets this result and the call is not
    repeated.
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

    ``key`` opened the session, acting as ``principal``. An agent's key sees only the sessions that
    it opened. ``operation`` is the caller's idempotency key, if one was sent; ``body`` is the hash
    of the body that opened the session.
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
