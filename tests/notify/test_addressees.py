"""Recipients: webhooks of owners, and of people who answer an ask as members of a group."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.db.expressions import database_now
from agents.models import Agent
from asks.deadlines.nudges import send_due_nudges
from asks.models import Ask, Nudge
from tests.cast import agent, colleague, owner, session, stranger
from tests.factories import UserFactory, home_of
from tests.policies.world import asked, group_of, in_force
from workspace.models import Delivery, OutboxItem, WebhookEndpoint
from workspace.notify import deliveries, recipients, webhook

__all__ = ["agent", "colleague", "owner", "session", "stranger"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def member(stranger: User) -> User:
    group_of("board", stranger)
    return stranger


def endpoint_of(person: User) -> WebhookEndpoint:
    url = f"https://example.com/{person.username}"
    return WebhookEndpoint.objects.create(url=url, owner=person, secret=webhook.new_secret())


def ask_under(agent: Agent, **terms: Any) -> Ask:
    in_force(agent, {"operation": "refund"}, **terms)
    return asked(home_of(agent))


def told(kind: str) -> list[str]:
    deliveries.spread_outbox()
    found = Delivery.objects.filter(item__kind=kind, endpoint__isnull=False)
    return sorted(found.values_list("endpoint__owner__username", flat=True))


def test_the_members_of_the_group_that_answers(
    agent: Agent, owner: User, colleague: User, member: User
) -> None:
    for person in (owner, member, UserFactory(username="nobody here")):
        endpoint_of(person)
    ask_under(agent, answered_by="group:board")
    assert told("ask.opened") == [owner.username, member.username]
    assert colleague.username not in told("ask.opened"), "they have no webhook"


def test_those_it_is_escalated_to_once_they_may_answer(agent: Agent, member: User) -> None:
    endpoint_of(member)
    escalated = {"escalate_after": "PT1H", "escalate_to": "group:board"}
    ask = ask_under(agent, **escalated, escalated_may_answer=True)
    assert told("ask.opened") == []
    Nudge.objects.filter(ask=ask).update(due_at=database_now())
    send_due_nudges()
    assert told("ask.reminded") == [member.username]


def test_somebody_who_is_both_is_told_once(agent: Agent, owner: User) -> None:
    group_of("board", owner)
    endpoint_of(owner)
    ask_under(agent, answered_by="group:board")
    assert told("ask.opened") == [owner.username]


@pytest.mark.parametrize("leaves", ["the group", "altogether"])
def test_who_has_left_meanwhile_is_told_no_more(agent: Agent, member: User, leaves: str) -> None:
    endpoint_of(member)
    ask_under(agent, answered_by="group:board")
    assert told("ask.opened") == [member.username]
    delivery = Delivery.objects.get(endpoint__owner=member)
    assert recipients.still_concerned(delivery.pk)
    if leaves == "the group":
        member.groups.clear()
    else:
        User.objects.filter(pk=member.pk).update(is_active=False)
    assert not recipients.still_concerned(delivery.pk)


def test_of_what_is_not_about_an_ask_owners_alone(agent: Agent, owner: User, member: User) -> None:
    for person in (owner, member):
        endpoint_of(person)
    ask = ask_under(agent, answered_by="group:board")
    item = OutboxItem.objects.get(subject=f"ask:{ask.pk}")
    OutboxItem.objects.filter(pk=item.pk).update(subject=f"session:{ask.session_id}")
    assert told(item.kind) == [owner.username]


def test_many_items_cost_no_more_queries_than_one(agent: Agent, owner: User, member: User) -> None:
    for person in (owner, member):
        endpoint_of(person)
    counts = []
    for number in (1, 8):
        for _ in range(number):
            ask_under(agent, answered_by="group:board")
        with CaptureQueriesContext(connection) as queries:
            recipients.endpoints_of(list(OutboxItem.objects.filter(spread_at=None)))
        counts.append(len(queries))
        deliveries.spread_outbox()
    assert counts == [6, 6]
