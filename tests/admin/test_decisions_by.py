"""Decisions are found by person, agent, operation, outcome and how long they waited."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from asks.drafts import ActionDraft
from asks.models import Ask, Verdict
from tests.admin import world
from tests.factories import AgentFactory, AskFactory, UserFactory, echo_of, home_of, verdict_on
from tests.policies.world import asked, group_of, in_force

pytestmark = pytest.mark.django_db
WAITED = {
    "minutes": timedelta(minutes=2),
    "hour": timedelta(minutes=59),
    "day": timedelta(hours=23),
    "week": timedelta(days=6),
    "longer": timedelta(days=8),
}


@pytest.fixture
def decided() -> dict[str, Verdict]:
    """One verdict for each wait, each of an agent of its own."""
    made = {}
    for name, wait in WAITED.items():
        owner = UserFactory(username=f"{name}-owner")
        agent = AgentFactory(slug=f"of-{name}", owners=[owner])
        made[name] = _after(AskFactory(session=home_of(agent)), owner, wait)
    return made


def _after(ask: Ask, by: User, wait: timedelta) -> Verdict:
    Ask.objects.filter(pk=ask.pk).update(opened_at=ask.opened_at - wait)
    return verdict_on(ask, by)


def found(client: Client, **asked_for: Any) -> list[Any]:
    page = client.get("/admin/asks/verdict/", asked_for)
    assert page.status_code == 200
    return list(page.context["cl"].result_list)


@pytest.mark.parametrize("name", WAITED)
def test_by_how_long_they_waited(as_root: Client, decided: dict[str, Verdict], name: str) -> None:
    assert found(as_root, waited=name) == [decided[name]]


def test_in_the_order_of_their_waiting(as_root: Client, decided: dict[str, Verdict]) -> None:
    page = as_root.get("/admin/asks/verdict/").context["cl"]
    column = page.list_display.index("waited")
    assert found(as_root, o=str(column)) == list(decided.values())
    assert found(as_root, o=f"-{column}") == list(reversed(decided.values()))


def test_the_wait_is_shown(as_root: Client, decided: dict[str, Verdict]) -> None:
    del decided
    page = as_root.get("/admin/asks/verdict/").content.decode()
    for words in ("2 min", "59 min", "23 h 0 min", "6 d 0 h", "8 d 0 h"):
        assert f'<td class="field-waited">{words}</td>' in page


def test_nobody_knows_how_long_an_imported_one_waited(as_root: Client) -> None:
    ask = AskFactory()
    Ask.objects.filter(pk=ask.pk).update(imported=True)
    verdict_on(ask, ask.agent.owners.get())
    assert found(as_root, waited="minutes") == []
    assert "unknown" in as_root.get("/admin/asks/verdict/").content.decode()


def test_by_agent_operation_and_outcome(as_root: Client, decided: dict[str, Verdict]) -> None:
    refund = asked(home_of(AgentFactory()))
    verdict = verdict_on(refund, refund.agent.owners.get(), option="deny")
    assert found(as_root, operation="refund") == [verdict]
    assert found(as_root, meaning__exact="deny") == [verdict]
    first = decided["hour"]
    assert found(as_root, ask__agent__id__exact=first.ask.agent_id) == [first]
    assert found(as_root, operation="no such") == []


def test_an_operation_that_is_confidential_is_neither_named_nor_found(as_root: Client) -> None:
    agent, member = AgentFactory(), UserFactory()
    group_of("board", member)
    in_force(agent, {"operation": "refund"}, answered_by="group:board", confidential=True)
    ask = asked(home_of(agent))
    verdict_on(ask, member, option="approve", echo=echo_of(ask))
    paid = asked(home_of(AgentFactory()), ActionDraft("pay", {}))
    verdict_on(paid, paid.agent.owners.get(), option="deny")
    page = as_root.get("/admin/asks/verdict/")
    assert b"operation=pay" in page.content
    assert b"operation=refund" not in page.content
    assert found(as_root, operation="refund") == []


def test_a_filtered_list_costs_the_same_for_one_row_and_for_ten(as_root: Client) -> None:
    queries = ({"waited": "day"}, {"operation": "stripe.refunds.create"}, {"o": "9"}, {"q": "x"})
    counts: list[list[int]] = []
    for rows in (1, 10):
        world.fill(rows - Verdict.objects.count(), first=Verdict.objects.count())
        counts.append([_queries_of(as_root, query) for query in queries])
    assert counts[0] == counts[1]
    assert max(counts[0]) <= 10


def _queries_of(client: Client, query: dict[str, str]) -> int:
    client.get("/admin/asks/verdict/", query)
    with CaptureQueriesContext(connection) as found:
        assert client.get("/admin/asks/verdict/", query).status_code == 200
    return len(found)
