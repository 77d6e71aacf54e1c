"""Prepared queries find what the querysets find that they are made of, for whoever asks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries

from agents import clock
from agents.lifecycle import Outcome
from agents.models import Agent, Session
from agents.registering import open_session
from asks import access, delegating, queue, queue_page
from asks.prepared import Prepared, with_only
from tests.factories import AgentFactory, AskFactory, home_of, turn_of
from tests.policies.world import asked, group_of, in_force, refund

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def everybody(agent: Agent, owner: User, colleague: User, stranger: User) -> list[User]:
    """An owner, a team's second, a group's member and a delegate, with something for each."""
    agent.owners.set([owner, colleague])
    group_of("treasury", stranger)
    delegate = User.objects.create(username="dora")
    delegating.delegate(by=colleague, to=delegate, ends_at=clock.now() + DAY, reason="Away.")
    in_force(agent, refund(answered_by="group:treasury"))
    for _ in range(2):
        AskFactory(session=open_session(agent))
        turn_of(open_session(agent), Outcome.BLOCKED)
        turn_of(home_of(AgentFactory(owners=[owner])), Outcome.NO_WORK)
    asked(open_session(agent))
    return [owner, colleague, stranger, delegate]


def test_each_sees_what_the_querysets_find(everybody: list[User]) -> None:
    for person in everybody:
        first = queue.open_asks(person)[: queue_page.PAGE_SIZE]
        assert queue_page.first_places(person) == queue_page.places_of(first)
        assert queue_page.blocked(person) == list(queue.blocked_sessions(person))
        quiet = {*queue.fine(person), *queue.working(person)}
        assert set(queue_page.others(person)) == quiet
        assert queue.badge(person) == first.count() + queue.blocked_sessions(person).count()
    assert [queue.badge(person) for person in everybody] == [4, 4, 1, 2]


def test_a_delegate_is_told_in_whose_name(everybody: list[User]) -> None:
    *_, delegate = everybody
    (given,) = access.delegations_to(delegate)
    assert {place.by_delegation for place in queue_page.first_places(delegate)} == {given.pk}
    assert {place.by_delegation for place in queue_page.first_places(everybody[0])} == {None}


def test_the_sql_is_made_once(
    owner: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made = []

    def make(pk: int) -> object:
        made.append(pk)
        return User.objects.filter(pk=pk).values_list("username")

    prepared = Prepared(make)  # type: ignore[arg-type]
    with django_assert_num_queries(3):
        assert prepared.rows(owner.pk) == prepared.rows(owner.pk) == [("olga",)]
        assert prepared.rows(owner.pk + 100_000) == []
    assert len(made) == 1


def test_a_query_that_is_about_nobody_is_refused() -> None:
    everyone = Prepared(lambda _: User.objects.values_list("username"))
    with pytest.raises(ValueError, match="does not depend on its number"):
        everyone.rows(1)


def test_what_was_not_read_is_read_when_it_is_used(
    session: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    stub = with_only(Session, ("status", "id"), ("MANUAL", session.pk))
    with django_assert_num_queries(0):
        assert (stub.pk, stub.status) == (session.pk, "MANUAL")
    with django_assert_num_queries(1):
        assert stub.agent_id == session.agent_id
