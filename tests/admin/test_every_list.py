"""Whatever the audit shows: nothing of it is edited, and no list costs more for more rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.db.expressions import database_now
from agents.models import Agent
from agents.registration import open_session
from asks import answering, backlog, delegation
from asks.deadlines import expiry
from asks.ledger import anchors
from asks.models import Ask, SignedFile
from asks.undo.retracting import retract_verdict
from tests.effects import redeem_grant
from tests.factories import REFUND, AgentFactory, UserFactory, echo_of, home_of
from tests.policies.world import asked, in_force
from workspace.accounts import api_keys
from workspace.models import Delivery, OutboxItem, WebhookEndpoint
from workspace.notify import deliveries, webhook

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
#: People's accounts are kept in the admin; what is ours is read, and a policy can be added to.
OURS: tuple[type[Model], ...] = tuple(
    sorted(
        (m for m in admin.site._registry if m._meta.app_label in ("agents", "asks", "workspace")),
        key=lambda model: model._meta.label,
    )
)


@pytest.fixture(autouse=True)
def _state_of_its_own(settings: Any, tmp_path: Any) -> None:
    settings.STATE_DIR = tmp_path / "state"


def fill(count: int) -> None:
    """That many more agents with one of everything."""
    for _ in range(count):
        owner, colleague = UserFactory(), UserFactory()
        agent = AgentFactory(owners=[owner, colleague])
        terms = {"expires_after": "P1D", "remind_after": "PT1H"}
        in_force(agent, {"operation": "refund", "quorum": 2}, by=owner, **terms)
        _decide(asked(home_of(agent)), owner, colleague)
        _take_back(asked(open_session(agent)), owner, colleague)
        _leave_undecided(asked(home_of(agent)), owner)
        delegation.create_delegation(
            by=owner, to=colleague, ends_at=database_now() + DAY, reason="Away"
        )
        api_keys.create_key(name=f"of {agent.slug}", scopes=["run:read"], agent=agent)
        _tell(agent, owner)


def _decide(voted: Ask, owner: User, colleague: User) -> None:
    answering.answer_ask(ask_id=voted.pk, by=owner, option="no such", echo=echo_of(voted))
    for person in (owner, colleague):
        answering.answer_ask(ask_id=voted.pk, by=person, option="approve", echo=echo_of(voted))
    verdict = Ask.objects.get(pk=voted.pk).verdict
    redeem_grant(session_id=voted.session_id, operation="refund", params=REFUND.params)
    SignedFile.objects.create(digest=f"{voted.pk:064}", name="a.json", why="-", verdict=verdict)


def _take_back(voted: Ask, owner: User, colleague: User) -> None:
    for person in (owner, colleague):
        press: dict[str, Any] = {
            "option": "approve",
            "echo": echo_of(voted),
            "undo": timedelta(seconds=20),
        }
        answering.answer_ask(ask_id=voted.pk, by=person, **press)
    verdict = Ask.objects.get(pk=voted.pk).decision
    retract_verdict(verdict_id=verdict.pk, by=colleague)


def _leave_undecided(late: Ask, owner: User) -> None:
    Ask.objects.filter(pk=late.pk).update(expires_at=database_now())
    expiry.expire_due_asks()
    backlog.dismiss_ask(ask_id=late.pk, by=owner, reason="Too late.")
    anchors.write_anchor()


def _tell(agent: Agent, owner: User) -> None:
    url = f"https://example.com/{agent.slug}"
    WebhookEndpoint.objects.create(url=url, owner=owner, secret=webhook.new_secret())
    deliveries.spread_outbox()
    assert Delivery.objects.exists()
    assert OutboxItem.objects.exists()


def address_of(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def queries_of(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def test_no_list_costs_more_for_more_rows(as_root: Client) -> None:
    fill(1)
    for model in OURS:
        as_root.get(address_of(model))  # what Django remembers for good is asked for once
    counts = []
    for rows in (1, 2):
        fill(rows)
        counts.append({model: queries_of(as_root, address_of(model)) for model in OURS})
    assert counts[0] == counts[1]
    assert max(counts[0].values()) <= 10


def test_nothing_of_it_is_edited_added_or_deleted(as_root: Client) -> None:
    fill(1)
    for model in OURS:
        row = model._default_manager.order_by("pk").last()
        if row is None:
            continue
        before = list(model._default_manager.order_by("pk").values())
        address = address_of(model)
        for path in (f"{row.pk}/change/", f"{row.pk}/delete/"):
            assert as_root.post(f"{address}{path}", {"post": "yes"}).status_code == 403, model
        added = as_root.post(f"{address}add/", {})
        assert added.status_code == (200 if model._meta.model_name == "policy" else 403), model
        as_root.post(address, {"action": "delete_selected", "_selected_action": [row.pk]})
        assert list(model._default_manager.order_by("pk").values()) == before


def test_there_is_something_to_look_at_of_each(as_root: Client) -> None:
    fill(1)
    empty = {model._meta.model_name for model in OURS if not model._default_manager.exists()}
    assert empty <= {"lane"}
    for model in OURS:
        assert as_root.get(address_of(model)).status_code == 200
