"""Couriers that end attempts at the same endpoint at once do not deadlock."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.core.management import call_command
from django.db import transaction

from tests.api import world
from tests.api.world import Cast
from tests.races.racing import Beside, pass_by
from workspace.models import Delivery, DeliveryState, WebhookEndpoint
from workspace.notify import breaker, deliveries, webhook
from workspace.notify.deliveries import Parcel, Sink
from workspace.notify.errors import Undelivered

pytestmark = pytest.mark.django_db(transaction=True)

End = Callable[[Parcel], object]
ENDS: dict[str, End] = {
    "taken": deliveries.mark_delivered,
    "failed": lambda parcel: deliveries.mark_failed(parcel, Undelivered("500")),
    "gone": lambda parcel: deliveries.mark_failed(parcel, Undelivered("410", gone=True)),
    "removed": lambda parcel: call_command("webhook", "remove", str(parcel.endpoint_id)),
}


@pytest.fixture
def parcels(cast: Cast) -> list[Parcel]:
    """Two running deliveries to one endpoint."""
    WebhookEndpoint.objects.create(
        url="https://example.com/", owner=cast.owner, secret=webhook.new_secret()
    )
    for _ in range(2):
        world.asked(cast.agent)
    deliveries.spread_outbox()
    claimed = deliveries.claim_deliveries(Sink.WEBHOOK, 2)
    assert len(claimed) == 2
    return claimed


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_who_waits_for_the_endpoint_holds_no_delivery(parcels: list[Parcel], end: End) -> None:
    with transaction.atomic():
        list(WebhookEndpoint.objects.select_for_update())
        beside = Beside(partial(end, parcels[0]))
        beside.wait_until_blocked()
        assert len(Delivery.objects.select_for_update(nowait=True)) == 2
    beside.result()


def test_a_claim_waits_for_no_endpoint(parcels: list[Parcel]) -> None:
    WebhookEndpoint.objects.update(failures=breaker.OPENS_AFTER)
    for parcel in parcels:
        deliveries.return_delivery(parcel)
    claim = partial(deliveries.claim_deliveries, Sink.WEBHOOK, 2)
    raced = pass_by(lambda: list(WebhookEndpoint.objects.select_for_update()), claim)
    assert raced.second == []
    assert len(claim()) == 1, "one goes ahead"
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.QUEUED}
