"""Sessions that eve's own clients opened, by the names those clients know."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.models import Session
from workspace.models.keys import ApiKey


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
