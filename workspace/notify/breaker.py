"""Pause an endpoint that keeps failing, and finally switch it off.

While the breaker is open, deliveries wait and use no attempts. After the pause one delivery probes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F, QuerySet

from agents.db.expressions import database_now
from workspace.models import Delivery, DeliveryState, WebhookEndpoint

#: Failures in a row that open the breaker, and that switch the endpoint off.
OPENS_AFTER = 5
OFF_AFTER = 50
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
#: How long a probing delivery holds the others back.
PROBE = timedelta(seconds=30)


def hold_endpoint(endpoint_id: int) -> None:
    """Lock an endpoint. Always lock it before its deliveries, to avoid deadlocks."""
    list(_locked(WebhookEndpoint.objects.filter(pk=endpoint_id)))


def _locked(endpoints: QuerySet[WebhookEndpoint], *, waits: bool = True) -> QuerySet[Any, int]:
    locked = endpoints.select_for_update(no_key=True, skip_locked=not waits)
    return locked.values_list("pk", flat=True)


def probing_once(rows: list[Delivery]) -> list[Delivery]:
    """Return the locked deliveries to attempt: for a failing endpoint only the first, as a probe.

    The probe holds other couriers back. An endpoint that another transaction has locked is skipped,
    because a transaction that has locked deliveries must never wait for an endpoint.
    """
    failing = [pk for row in rows if (pk := _failing_endpoint(row)) is not None]
    if not failing:
        return rows
    to_probe = set(_locked(WebhookEndpoint.objects.filter(pk__in=failing), waits=False))
    WebhookEndpoint.objects.filter(pk__in=to_probe).update(paused_until=database_now() + PROBE)
    chosen = []
    for row in rows:
        pk = _failing_endpoint(row)
        if pk is None:
            chosen.append(row)
        elif pk in to_probe:
            to_probe.remove(pk)
            chosen.append(row)
    return chosen


def _failing_endpoint(row: Delivery) -> int | None:
    return row.endpoint.pk if row.endpoint and row.endpoint.failures >= OPENS_AFTER else None


def record_success(endpoint_id: int) -> None:
    """Record a successful attempt: reset the failures and close the breaker."""
    WebhookEndpoint.objects.filter(pk=endpoint_id, failures__gt=0).update(
        failures=0, paused_until=None, last_error=""
    )


def record_failure(endpoint_id: int, error: str) -> None:
    """Record a failed attempt. The transaction must have locked the endpoint."""
    WebhookEndpoint.objects.filter(pk=endpoint_id).update(
        failures=F("failures") + 1, last_error=error
    )
    endpoint = WebhookEndpoint.objects.get(pk=endpoint_id)
    if endpoint.failures >= OFF_AFTER:
        switch_off_endpoint(
            endpoint_id, f"Switched off after {endpoint.failures} failures: {error}"
        )
    elif endpoint.failures >= OPENS_AFTER:
        endpoint.paused_until = database_now() + pause_after(endpoint.failures)
        endpoint.save(update_fields=["paused_until"])


def pause_after(failures: int) -> timedelta:
    """Return how long the breaker stays open: a minute, doubling to an hour."""
    doublings = min(failures - OPENS_AFTER, 10)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)


def switch_off_endpoint(endpoint_id: int, why: str) -> None:
    """Switch off a locked endpoint and give up its queued deliveries."""
    WebhookEndpoint.objects.filter(pk=endpoint_id).update(
        active=False, paused_until=None, last_error=why[:500]
    )
    Delivery.objects.filter(endpoint=endpoint_id, state=DeliveryState.QUEUED).update(
        state=DeliveryState.GIVEN_UP, last_error=why[:500]
    )
