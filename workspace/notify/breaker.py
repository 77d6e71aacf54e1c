"""An endpoint that fails again and again is left alone for a while, and at last switched off.

While the breaker is open its deliveries wait and spend no attempts; then one of them goes ahead.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F, QuerySet

from agents.db.expressions import database_now
from workspace.models import Delivery, DeliveryState, WebhookEndpoint

#: So many failures in a row open the breaker; so many switch the endpoint off.
OPENS_AFTER = 5
OFF_AFTER = 50
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
#: How long a delivery that goes ahead keeps the others back.
PROBE = timedelta(seconds=30)


def hold_endpoint(endpoint_id: int) -> None:
    """Lock an endpoint, before any of its deliveries: whoever changes both takes them in this order."""
    list(_locked(WebhookEndpoint.objects.filter(pk=endpoint_id)))


def _locked(endpoints: QuerySet[WebhookEndpoint], *, waits: bool = True) -> QuerySet[Any, int]:
    locked = endpoints.select_for_update(no_key=True, skip_locked=not waits)
    return locked.values_list("pk", flat=True)


def probing_once(rows: list[Delivery]) -> list[Delivery]:
    """Of locked deliveries to a failing endpoint only the first, which also keeps other couriers back.

    None of an endpoint that another has locked: who holds deliveries never waits for an endpoint.
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
    """An attempt succeeded: all is well again."""
    WebhookEndpoint.objects.filter(pk=endpoint_id, failures__gt=0).update(
        failures=0, paused_until=None, last_error=""
    )


def record_failure(endpoint_id: int, error: str) -> None:
    """An attempt failed. Inside a transaction that holds the endpoint."""
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
    """How long the breaker stays open: a minute, doubling to an hour."""
    doublings = min(failures - OPENS_AFTER, 10)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)


def switch_off_endpoint(endpoint_id: int, why: str) -> None:
    """Stop telling a held endpoint anything; what still waited for it is given up."""
    WebhookEndpoint.objects.filter(pk=endpoint_id).update(
        active=False, paused_until=None, last_error=why[:500]
    )
    Delivery.objects.filter(endpoint=endpoint_id, state=DeliveryState.QUEUED).update(
        state=DeliveryState.GIVEN_UP, last_error=why[:500]
    )
