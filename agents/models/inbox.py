from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.lifecycle import InboxKind, InboxState
from agents.models.run import Run
from agents.models.session import Session


class InboxItem(models.Model):
    """A verdict, message or mail for a session. It is kept until a run that was given it completes.

    The ``data`` of a verdict is {ask_id, prompt, option, label, text, meaning}. ``hops`` counts the
    agents that mail has passed through, so that it cannot circle forever.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="inbox")
    kind = models.CharField(max_length=16, choices=InboxKind.choices)
    author = models.CharField(max_length=200)
    body = models.TextField()
    data = models.JSONField(default=dict, blank=True)
    hops = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=16, choices=InboxState.choices, default=InboxState.QUEUED)
    leased_by = models.ForeignKey(
        Run, on_delete=models.PROTECT, null=True, blank=True, related_name="given"
    )
    attempts = models.PositiveIntegerField(default=0)
    source_key = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["session", "source_key"],
                condition=~Q(source_key=""),
                name="a_thing_is_owed_once",
            ),
            models.CheckConstraint(
                condition=~Q(state="leased") | Q(leased_by__isnull=False),
                name="a_lease_names_its_run",
            ),
            models.CheckConstraint(
                condition=~Q(state="dead") | Q(kind="mail"),
                name="only_mail_is_given_up",
            ),
        ]
        indexes = [
            models.Index(
                fields=["session", "id"],
                condition=Q(state__in=("queued", "leased")),
                name="inbox_owed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} from {self.author}"
