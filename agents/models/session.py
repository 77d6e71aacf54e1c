from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agents.lifecycle import WAKING_CAUSES, Cause, SessionState, Status
from agents.models.agent import Agent


class Session(models.Model):
    """A durable conversation of an agent. Its row is the lock for everything that belongs to it.

    ``status`` and ``status_reason`` are the value of ``agents.status.derive_status`` at ``moved_at``.
    Counters (``last_seq``, ``run_count``, ``gate_count``, ``open_asks``) are written under the lock.
    """

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="sessions")
    title = models.CharField(max_length=200, blank=True)
    is_home = models.BooleanField(
        default=False, help_text="The session that the agent's schedule and mail wake."
    )
    state = models.CharField(
        max_length=16, choices=SessionState.choices, default=SessionState.ACTIVE
    )
    state_reason = models.CharField(max_length=300, blank=True)
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.MANUAL)
    status_reason = models.CharField(max_length=300, blank=True)
    moved_at = models.DateTimeField(db_default=Now())
    wake_at = models.DateTimeField(null=True, blank=True)
    wake_cause = models.CharField(max_length=16, choices=Cause.choices, default=Cause.MANUAL)
    held_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Nothing starts before: until then a person can take an answer back.",
    )
    idle_streak = models.PositiveIntegerField(default=0)
    error_streak = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when a person must act: it cannot start, keeps failing or was given up.",
    )
    last_outcome = models.CharField(max_length=20, blank=True)
    last_seq = models.PositiveBigIntegerField(default=0)
    run_count = models.PositiveIntegerField(default=0)
    gate_count = models.PositiveIntegerField(default=0)
    open_asks = models.PositiveIntegerField(default=0)
    external_id = models.CharField(max_length=200, blank=True)
    data = models.JSONField(default=dict, blank=True)
    requested_by = models.ForeignKey(
        User,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Who last started it or wrote to it; nobody once its schedule starts it.",
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["agent"], condition=Q(is_home=True), name="one_home_session_per_agent"
            ),
            models.UniqueConstraint(
                fields=["agent", "external_id"],
                condition=~Q(external_id=""),
                name="one_session_per_external_id",
            ),
            models.CheckConstraint(
                condition=Q(wake_at__isnull=True) ^ Q(wake_cause__in=sorted(WAKING_CAUSES)),
                name="waking_has_a_cause",
            ),
        ]
        indexes = [
            models.Index(
                F("wake_at"),
                condition=Q(wake_at__isnull=False, state="active"),
                name="sessions_that_are_due",
            ),
            models.Index(fields=["agent", "status"], name="sessions_by_status"),
            models.Index(
                fields=["agent"],
                condition=Q(failing_since__isnull=False),
                name="sessions_that_fail",
            ),
            models.Index(
                F("held_until"),
                condition=Q(held_until__isnull=False),
                name="sessions_that_are_held",
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"Session {self.pk}"

    @property
    def is_failing(self) -> bool:
        """Whether its failures are a matter for its owner."""
        return self.failing_since is not None
