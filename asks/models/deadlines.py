from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from asks.models.ask import Ask


class NudgeKind(models.TextChoices):
    REMINDER = "reminder", "Reminder"
    ESCALATION = "escalation", "Escalation"
    WARNING = "warning", "Warning before it expires"


class Nudge(models.Model):
    """A reminder, escalation or warning about an open ask, due once.

    ``round`` counts the extensions of the deadline: each extension has its own warning. ``said_at`` is
    the time when the nudge was sent, or skipped because the ask was no longer open.
    """

    ask = models.ForeignKey(Ask, on_delete=models.PROTECT, related_name="nudges")
    kind = models.CharField(max_length=12, choices=NudgeKind.choices)
    round = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    to = models.CharField(max_length=160, blank=True)
    said_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("due_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["ask", "kind", "round"], name="each_nudge_is_given_once"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(said_at=None), name="nudges_to_give"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.ask_id}"


class Dropped(models.Model):
    """An expired ask that a person dismissed, with the reason."""

    ask = models.OneToOneField(Ask, on_delete=models.PROTECT, related_name="dropped")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="dropped"
    )
    reason = models.CharField(max_length=1000)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "dropped"
        ordering = ("-at", "-id")
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="dropping_has_a_reason"),
        ]
        triggers = append_only_triggers("dropped")

    def __str__(self) -> str:
        return self.reason[:80]
