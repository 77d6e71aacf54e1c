from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from agents.models.run import Run
from agents.models.session import Session


class Event(models.Model):
    """Something that happened in a session. Events are numbered without gaps and never change.

    ``text`` is verbatim. ``html`` is the same text, rendered and sanitised when it was written. A
    ``once_key`` occurs at most once per run, so a marker that is read twice is stored once.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="events")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, related_name="events")
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=32)
    actor = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    html = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)
    once_key = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("session", "seq")
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="events_are_numbered"),
            models.UniqueConstraint(
                fields=["run", "once_key"],
                condition=~Q(once_key=""),
                name="a_marker_lands_once_per_run",
            ),
        ]
        indexes = [
            models.Index(
                fields=["session", "-id"], condition=Q(kind="notice"), name="events_that_notify"
            ),
        ]
        triggers = append_only_triggers("events")

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"
