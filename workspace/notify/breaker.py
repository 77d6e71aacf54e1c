"""An endpoint that fails again and again is left alone for a while, and at last switched off.

While the breaker is open its deliveries wait and spend no attempts; then one of them goes ahead.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from agents import clock
from workspace.models import Delivery, DeliveryState, WebhookEndpoint

#: So many failures in a row open the breaker; so many switch the endpoint off.
OPENS_AFTER = 5
OFF_AFTER = 50
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
#: How long a delivery that goes ahead keeps the others back.
PROBE = timedelta(seconds=30)


def probing_once(rows: list[Delivery]) -> list[Delivery]:
    """Of deliveries to a failing endpoint only the first, which also keeps other couriers back."""
    probed: set[int] = set()
    chosen = []
    for row in rows:
        endpoint = row.endpoint
        if endpoint is None or endpoint.failures < OPENS_AFTER:
            chosen.append(row)
        elif endpoint.pk not in probed:
            probed.add(endpoint.pk)
            chosen.append(row)
    WebhookEndpoint.objects.filter(pk__in=probed).update(paused_until=clock.now() + PROBE)
    return chosen


def works(endpoint_id: int) -> None:
    """An attempt succeeded: all is well again."""
    WebhookEndpoint.objects.filter(pk=endpoint_id, failures__gt=0).update(
        failures=0, paused_until=None, last_error=""
    )


def fails(endpoint_id: int, error: str) -> None:
    """An attempt failed. Inside a transaction."""
    WebhookEndpoint.objects.filter(pk=endpoint_id).update(
        failures=F("failures") + 1, last_error=error
    )
    endpoint = WebhookEndpoint.objects.get(pk=endpoint_id)
    if endpoint.failures >= OFF_AFTER:
        switch_off(endpoint_id, f"Switched off after {endpoint.failures} failures: {error}")
    elif endpoint.failures >= OPENS_AFTER:
        endpoint.paused_until = clock.now() + pause_after(endpoint.failures)
        endpoint.save(update_fields=["paused_until"])


def pause_after(failures: int) -> timedelta:
    """How long the breaker stays open: a minute, doubling to an hour."""
    doublings = min(failures - OPENS_AFTER, 10)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)


def switch_off(endpoint_id: int, why: str) -> None:
    """Stop telling an endpoint anything; what still waited for it is given up."""
    WebhookEndpoint.objects.filter(pk=endpoint_id).update(
        active=False, paused_until=None, last_error=why[:500]
    )
    Delivery.objects.filter(endpoint=endpoint_id, state=DeliveryState.QUEUED).update(
        state=DeliveryState.GIVEN_UP, last_error=why[:500]
    )
