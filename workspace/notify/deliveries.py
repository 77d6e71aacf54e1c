"""Deliveries of outbox items: spread to sinks, claimed for an attempt, delivered or retried.

Every claim expires, so a courier that dies during an attempt only delays it. Each item is therefore
delivered at least once; a receiver recognises a repetition by the item's ``id``.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from agents.db.expressions import ClockNow, database_now
from agents.db.statements import Prepared
from asks.models import Ask
from workspace.models import Delivery, DeliveryState, OutboxItem, WebhookEndpoint
from workspace.notify import breaker, payloads, recipients
from workspace.notify.errors import Undelivered

BATCH = 100
#: Longer than any attempt: an attempt without a result by then is repeated.
LEASE = timedelta(seconds=30)
#: Seconds to wait after each failed attempt. After the last one the delivery is given up.
PAUSES = (5, 30, 120, 600, 1800, 7200, 18_000)
MAX_ATTEMPTS = len(PAUSES) + 1
KEPT = timedelta(days=30)
MAX_ERROR = 500


class Sink(Enum):
    """The two kinds of receivers, each with its own limit of simultaneous attempts."""

    HOOK = "hook"
    WEBHOOK = "webhook"


@dataclass(frozen=True)
class Parcel:
    """A claimed delivery: content and receiver. ``at`` is ISO 8601; ``attempt`` fences results."""

    delivery_id: int
    attempt: int
    uid: str
    kind: str
    at: str
    actor: str
    subject: str
    payload: dict[str, Any]
    endpoint_id: int | None = None
    url: str = ""
    secrets: tuple[str, ...] = ()


def anything_due() -> bool:
    """Spread new items; return whether a delivery is due.

    While nothing is due this costs two short queries.
    """
    if _NEW.rows():
        spread_outbox()
    return bool(_ANY_DUE.rows())


def _any(rows: QuerySet[Any]) -> QuerySet[Any, Any]:
    """Select any one row. With an order, PostgreSQL might scan all rows that are done."""
    return rows.order_by().values_list("pk")[:1]


_NEW = Prepared(lambda: _any(OutboxItem.objects.filter(spread_at=None)), of=())
_ANY_DUE = Prepared(
    lambda: _any(Delivery.objects.filter(state=DeliveryState.QUEUED, next_try__lte=Now())), of=()
)


@transaction.atomic
def spread_outbox() -> int:
    """Create deliveries of new items to every sink that wants them; return the number of items.

    Several processes may do this at once.
    """
    items = list(
        OutboxItem.objects.select_for_update(skip_locked=True)
        .filter(spread_at=None)
        .order_by("pk")[:BATCH]
    )
    if items:
        endpoints = recipients.endpoints_of(items)
        deliveries = [
            Delivery(item=item, endpoint=endpoint)
            for item in items
            for endpoint in _sinks(item, endpoints[item])
        ]
        _complete({delivery.item for delivery in deliveries})
        Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
        OutboxItem.objects.filter(pk__in=[item.pk for item in items]).update(spread_at=Now())
    return len(items)


def _complete(items: Collection[OutboxItem]) -> None:
    """Complete the payloads about asks once, so that every attempt sends the same."""
    about = {item: ask_id for item in items if (ask_id := recipients.ask_of(item)) is not None}
    asks = Ask.objects.select_related("gate", "verdict__decided_by", "verdict__option")
    by_id = asks.prefetch_related("options").in_bulk(about.values())
    for item, ask_id in about.items():
        if ask_id in by_id:
            item.payload = payloads.ask_payload(item.payload, item.kind, by_id[ask_id])
    OutboxItem.objects.bulk_update(about, ["payload"])


def _sinks(item: OutboxItem, endpoints: list[WebhookEndpoint]) -> Iterable[WebhookEndpoint | None]:
    hook_kinds = settings.NEEDS_YOU_EVENT_HOOK_KINDS
    if settings.NEEDS_YOU_EVENT_HOOK and (not hook_kinds or item.kind in hook_kinds):
        yield None
    for endpoint in endpoints:
        if not endpoint.kinds or item.kind in endpoint.kinds:
            yield endpoint


@transaction.atomic
def claim_deliveries(sink: Sink, limit: int) -> list[Parcel]:
    """Claim up to ``limit`` due deliveries for one attempt each."""
    rows = breaker.probing_once(list(_due(sink).order_by("next_try", "pk")[:limit]))
    if not rows:
        return []
    lapses = database_now() + LEASE
    for row in rows:
        row.attempts, row.next_try = row.attempts + 1, lapses
    Delivery.objects.bulk_update(rows, ["attempts", "next_try"])
    return [_parcel(row) for row in rows]


def _due(sink: Sink) -> QuerySet[Delivery]:
    due = (
        Delivery.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("item", "endpoint")
        .filter(state=DeliveryState.QUEUED, next_try__lte=ClockNow())
    )
    if sink is Sink.HOOK:
        return due.filter(endpoint=None)
    closed = Q(endpoint__paused_until=None) | Q(endpoint__paused_until__lte=ClockNow())
    return due.filter(closed, endpoint__active=True)


def _parcel(row: Delivery) -> Parcel:
    item, endpoint = row.item, row.endpoint
    return Parcel(
        delivery_id=row.pk,
        attempt=row.attempts,
        uid=item.uid,
        kind=item.kind,
        at=item.created_at.isoformat(),
        actor=item.actor,
        subject=item.subject,
        payload=item.payload,
        endpoint_id=endpoint.pk if endpoint else None,
        url=endpoint.url if endpoint else "",
        secrets=endpoint.secrets if endpoint else (),
    )


def still_wanted(parcel: Parcel) -> bool:
    """Return whether the item still concerns the owner of the endpoint; a hook wants all."""
    return parcel.endpoint_id is None or recipients.still_concerned(parcel.delivery_id)


@transaction.atomic
def mark_delivered(parcel: Parcel) -> None:
    """Record that the sink accepted the item. A repeated or late call changes nothing."""
    _hold_endpoint(parcel)
    held = _held(parcel).update(state=DeliveryState.DELIVERED, delivered_at=Now(), last_error="")
    if held and parcel.endpoint_id is not None:
        breaker.record_success(parcel.endpoint_id)


@transaction.atomic
def mark_failed(parcel: Parcel, error: Undelivered) -> None:
    """Record that the attempt failed: retry the delivery later, or give it up."""
    why = str(error).replace("\x00", "\ufffd")[:MAX_ERROR]
    _hold_endpoint(parcel)
    if error.for_good or parcel.attempt >= MAX_ATTEMPTS:
        held = _held(parcel).update(state=DeliveryState.GIVEN_UP, last_error=why)
    else:
        pause = pause_after(parcel.attempt)
        held = _held(parcel).update(next_try=ClockNow() + pause, last_error=why)
    if held and parcel.endpoint_id is not None:
        if error.gone:
            breaker.switch_off_endpoint(parcel.endpoint_id, why)
        elif not error.for_good:
            breaker.record_failure(parcel.endpoint_id, why)


def _hold_endpoint(parcel: Parcel) -> None:
    if parcel.endpoint_id is not None:
        breaker.hold_endpoint(parcel.endpoint_id)


def return_delivery(parcel: Parcel) -> None:
    """Return an unfinished delivery to the queue, because the courier stops."""
    _held(parcel).update(next_try=Now(), attempts=F("attempts") - 1)


def pause_after(attempt: int) -> timedelta:
    """Return how long to wait after a failed attempt, with up to 10 % of jitter."""
    seconds = PAUSES[min(attempt, len(PAUSES)) - 1]
    return timedelta(seconds=seconds * (1 + random.random() / 10))  # noqa: S311


def prune_deliveries() -> int:
    """Delete old items without queued deliveries; return the number of deleted rows."""
    queued = Delivery.objects.filter(item=OuterRef("pk"), state=DeliveryState.QUEUED)
    old = OutboxItem.objects.filter(
        ~Exists(queued), spread_at__isnull=False, created_at__lt=Now() - KEPT
    )
    ids = list(old.order_by("pk").values_list("pk", flat=True)[: BATCH * 10])
    return OutboxItem.objects.filter(pk__in=ids).delete()[0]


def _held(parcel: Parcel) -> QuerySet[Delivery]:
    """Select the delivery if this attempt is still the current one."""
    return Delivery.objects.filter(
        pk=parcel.delivery_id, attempts=parcel.attempt, state=DeliveryState.QUEUED
    )
