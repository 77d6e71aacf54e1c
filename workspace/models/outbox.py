"""Events to report to the outside, written in the transaction in which they happen."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.models import Agent, Session
from workspace.models.webhooks import WebhookEndpoint


class OutboxKind(models.TextChoices):
    """The kinds of events that are reported. Nothing else leaves."""

    ASK_OPENED = "ask.opened", "A question was asked"
    ASK_ANSWERED = "ask.answered", "A question was answered"
    ASK_WITHDRAWN = "ask.withdrawn", "A question was withdrawn"
    ASK_EXPIRED = "ask.expired", "A question expired unanswered"
    ASK_SUPERSEDED = "ask.superseded", "A question was asked again, changed"
    ASK_REMINDED = "ask.reminded", "A question still waits"
    AGENT_NOTIFY = "agent.notify", "An agent said something in passing"
    SESSION_BLOCKED = "session.blocked", "A session is blocked without a question"


def new_uid() -> str:
    """Return a new id of an item, which is the same at every attempt and every sink."""
    return f"evt_{uuid.uuid4().hex}"


class OutboxItem(models.Model):
    """An event to report. ``spread_at`` is the time when its deliveries were created.

    ``subject`` is ``ask:<id>`` or ``session:<id>``; ``seq`` is the number of the session's event, by
    which a receiver orders items.
    """

    uid = models.CharField(max_length=40, unique=True, default=new_uid)
    kind = models.CharField(max_length=20, choices=OutboxKind.choices)
    actor = models.CharField(max_length=200)
    subject = models.CharField(max_length=40)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="+")
    seq = models.PositiveBigIntegerField()
    payload = models.JSONField()
    created_at = models.DateTimeField(db_default=Now())
    spread_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        indexes = [
            models.Index(fields=["id"], condition=Q(spread_at=None), name="outbox_to_spread"),
            models.Index(fields=["created_at"], name="outbox_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class DeliveryState(models.TextChoices):
    QUEUED = "queued", "To be delivered"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


class Delivery(models.Model):
    """The delivery of an item to a sink: a webhook's endpoint, or the command hook (None).

    ``next_try`` is also the lease of a running attempt: it is in the future meanwhile, so that the
    death of a courier only delays the delivery. ``attempts`` counts claims and fences their results.
    """

    item = models.ForeignKey(OutboxItem, on_delete=models.CASCADE, related_name="deliveries")
    endpoint = models.ForeignKey(
        WebhookEndpoint,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="deliveries",
    )
    state = models.CharField(
        max_length=12, choices=DeliveryState.choices, default=DeliveryState.QUEUED
    )
    attempts = models.PositiveIntegerField(default=0)
    next_try = models.DateTimeField(db_default=Now())
    last_error = models.CharField(max_length=500, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ("-pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["item", "endpoint"],
                nulls_distinct=False,
                name="a_sink_is_told_once",
            ),
            models.CheckConstraint(
                condition=Q(state="delivered") ^ Q(delivered_at__isnull=True),
                name="delivered_has_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["next_try"], condition=Q(state="queued"), name="deliveries_due"),
        ]

    def __str__(self) -> str:
        return f"{self.item} to {self.endpoint or 'the command hook'}"
