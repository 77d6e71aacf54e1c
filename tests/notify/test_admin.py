"""Staff see keys and webhooks, but neither hashes nor secrets."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from tests.api import world
from tests.api.world import Cast
from workspace.models import ApiKey, WebhookEndpoint
from workspace.notify import deliveries, webhook

pytestmark = pytest.mark.django_db

MODELS = ["apikey", "webhookendpoint", "outboxitem", "delivery"]


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def tell(cast: Cast, count: int) -> None:
    for number in range(count):
        world.made_key(cast.owner, cast.agent)
        WebhookEndpoint.objects.create(
            url=f"https://example.com/{count}/{number}",
            owner=cast.owner,
            secret=webhook.new_secret(),
        )
    world.asked(cast.agent)
    deliveries.spread_outbox()


@pytest.mark.parametrize("model", MODELS)
def test_staff_read_and_change_nothing(cast: Cast, staff: Client, model: str) -> None:
    tell(cast, 2)
    row = apps.get_model("workspace", model)._default_manager.first()
    assert row is not None
    listed = staff.get(reverse(f"admin:workspace_{model}_changelist"))
    shown = staff.get(reverse(f"admin:workspace_{model}_change", args=[row.pk]))
    assert (listed.status_code, shown.status_code) == (200, 200)
    assert staff.get(reverse(f"admin:workspace_{model}_add")).status_code == 403
    assert staff.post(reverse(f"admin:workspace_{model}_delete", args=[row.pk])).status_code == 403
    said = listed.content + shown.content
    for key in ApiKey.objects.all():
        assert key.hash.encode() not in said
    for endpoint in WebhookEndpoint.objects.all():
        assert endpoint.secret.encode() not in said


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_for_any_number(
    cast: Cast, staff: Client, model: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    page = reverse(f"admin:workspace_{model}_changelist")
    tell(cast, 1)
    staff.get(page)
    with CaptureQueriesContext(connection) as few:
        staff.get(page)
    tell(cast, 6)
    with django_assert_num_queries(len(few)):
        staff.get(page)
