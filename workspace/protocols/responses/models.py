"""Rows of the OpenAI Responses protocol: one response for each turn."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.models import Agent, Run, Session
from asks.models import Ask
from workspace.models.keys import ApiKey


class ResponseStatus(models.TextChoices):
    """The protocol's words only: strict clients reject an unknown status."""

    QUEUED = "queued", "Queued"
    IN_PROGRESS = "in_progress", "In progress"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Steps(models.TextChoices):
    """How the steps of the agent's work are shown to its caller.

    A client runs every function call that names one of its own tools. So a finished step is a call
    only for callers that have no tools.
    """

    CALLS = "calls", "Function calls"
    REASONING = "reasoning", "Summaries of the agent's reasoning"
    COMMENTARY = "commentary", "Messages"


UNDER_WAY = (ResponseStatus.QUEUED, ResponseStatus.IN_PROGRESS)


class Response(models.Model):
    """One turn of a hybrid agent, as its callers know it. Written under its session's lock.

    ``root`` is the first turn of the chain of questions and answers, empty for that turn itself.
    ``answers`` is the ask whose verdict started this turn. ``request`` is the task of the chain, and
    every turn has it. ``run`` is set once a run carries the turn. ``body`` is the protocol's object;
    its output is complete once the turn has ended. ``kept`` are the essentials that the brain sent
    with its question.
    """

    public_id = models.CharField(max_length=64, unique=True)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="responses")
    run = models.OneToOneField(
        Run, on_delete=models.PROTECT, null=True, blank=True, related_name="response"
    )
    key = models.ForeignKey(
        ApiKey,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The key that asked for it; none for what a page or a schedule started.",
    )
    previous = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="followed_by"
    )
    root = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="chain"
    )
    answers = models.OneToOneField(
        Ask, on_delete=models.PROTECT, null=True, blank=True, related_name="answering_response"
    )
    idempotency = models.CharField(
        max_length=100, blank=True, help_text="By which its caller knows this request, if it said."
    )
    status = models.CharField(max_length=12, choices=ResponseStatus.choices)
    background = models.BooleanField(default=False)
    stored = models.BooleanField(default=True)
    steps = models.CharField(max_length=12, choices=Steps.choices, default=Steps.CALLS)
    confidential = models.BooleanField(default=False)
    paused = models.BooleanField(default=False, help_text="It ended with a question.")
    let_go = models.BooleanField(default=False, help_text="Its question was closed unanswered.")
    request = models.JSONField(null=True)
    body = models.JSONField(default=dict)
    kept = models.JSONField(default=dict)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    next_seq = models.PositiveIntegerField(default=0)
    item_count = models.PositiveIntegerField(default=0)
    open_seq = models.PositiveIntegerField(
        null=True, blank=True, help_text="The event that began a message that goes on still."
    )
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["key", "idempotency"],
                condition=~Q(idempotency=""),
                name="a_request_is_taken_once",
            ),
            models.CheckConstraint(
                condition=Q(status__in=("queued", "in_progress")) ^ Q(ended_at__isnull=False),
                name="a_response_ends_once",
            ),
            models.CheckConstraint(
                condition=~Q(paused=True) | Q(status="completed"),
                name="a_pause_is_completed",
            ),
        ]
        indexes = [models.Index(fields=["session", "-id"], name="responses_of_a_session")]

    def __str__(self) -> str:
        return self.public_id

    @property
    def root_pk(self) -> int:
        """The primary key of the first turn of the chain."""
        return self.root_id or self.pk

    @property
    def is_under_way(self) -> bool:
        return self.status in UNDER_WAY


class ResponseEvent(models.Model):
    """One event of a response's stream, stored as the exact text that is sent, so replays are equal."""

    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="events")
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=64)
    data = models.TextField()

    class Meta:
        ordering = ("response", "seq")
        constraints = [
            models.UniqueConstraint(
                fields=["response", "seq"], name="response_events_are_numbered"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="events_are_never_rewritten", operation=pgtrigger.Update)
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class ResponseInput(models.Model):
    """One input item of a response, with the id that its caller pages by."""

    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="inputs")
    position = models.PositiveIntegerField()
    item_id = models.CharField(max_length=64, unique=True)
    data = models.JSONField()

    class Meta:
        ordering = ("response", "position")
        constraints = [
            models.UniqueConstraint(
                fields=["response", "position"], name="response_inputs_are_in_order"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="inputs_are_never_rewritten", operation=pgtrigger.Update)
        ]

    def __str__(self) -> str:
        return self.item_id
