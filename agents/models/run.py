from __future__ import annotations

import pgtrigger
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.lifecycle import LIVE_RUNS, RUN_MOVES, Cause, Outcome, RunStatus
from agents.models.session import Session


class Run(models.Model):
    """One turn of a session.

    ``epoch`` counts the claims: only the holder of the current epoch may write for the run.
    ``process`` identifies the run's command, so that another worker can end an orphan.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=16, choices=RunStatus.choices, default=RunStatus.QUEUED)
    cause = models.CharField(max_length=16, choices=Cause.choices)
    requested_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    process = models.JSONField(default=dict, blank=True)
    open_asks = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    usage = models.JSONField(default=dict, blank=True)
    queued_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="runs_are_numbered"),
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(status__in=LIVE_RUNS),
                name="one_live_run_per_session",
            ),
            models.CheckConstraint(
                condition=Q(status="running") ^ Q(lease_until__isnull=True),
                name="running_holds_a_lease",
            ),
            models.CheckConstraint(
                condition=Q(status__in=("queued", "running", "waiting_human"))
                ^ Q(ended_at__isnull=False),
                name="over_has_an_end",
            ),
            models.CheckConstraint(
                condition=~Q(status="waiting_human") | Q(open_asks__gt=0),
                name="waiting_has_an_open_ask",
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_until"], condition=Q(status="running"), name="runs_with_a_lease"
            ),
            models.Index(fields=["queued_at"], condition=Q(status="queued"), name="runs_queued"),
        ]
        triggers = [
            pgtrigger.FSM(
                name="run_moves",
                field="status",
                transitions=[
                    (str(here), str(there))
                    for here, ends in RUN_MOVES.items()
                    for there in sorted(ends)
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.number}"
