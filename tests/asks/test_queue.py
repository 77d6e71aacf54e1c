"""What a person sees: exactly what waits on them, in a fixed number of queries."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest
from django.contrib.auth.models import AnonymousUser, User
from pytest_django import DjangoAssertNumQueries

from agents import messages
from agents.db.expressions import database_now
from agents.lifecycle import AgentState, Outcome, RunStatus, Status
from agents.models import Agent, Session
from agents.registration import open_session
from asks import access
from asks.models import Ask
from asks.queue import queries
from tests.factories import (
    REFUND,
    AgentFactory,
    AskFactory,
    RunFactory,
    home_of,
    turn_of,
    verdict_on,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def elsewhere(stranger: User) -> Agent:
    """Another person's agent with everything that could leak."""
    agent: Agent = AgentFactory(owners=[stranger], slug="elsewhere")
    AskFactory(session=open_session(agent))
    verdict_on(AskFactory(session=open_session(agent)), stranger)
    turn_of(home_of(agent), Outcome.BLOCKED)
    return agent


@pytest.mark.usefixtures("elsewhere")
def test_longest_wait_first_and_only_mine(agent: Agent, owner: User, colleague: User) -> None:
    late, early = (AskFactory(session=open_session(agent)) for _ in range(2))
    Ask.objects.filter(pk=early.pk).update(opened_at=database_now() - timedelta(days=1))
    for person in (owner, colleague):
        assert [ask.pk for ask in queries.needs_you(person).asks] == [early.pk, late.pk]
        assert queries.count_badge(person) == 2


@pytest.mark.case("X1")
def test_a_blocked_session_that_asked_nothing_is_the_owners_problem(
    session: Session, owner: User, stranger: User
) -> None:
    run = turn_of(session, Outcome.BLOCKED)
    session.refresh_from_db()
    assert run.status == RunStatus.COMPLETED
    assert session.status == Status.BLOCKED
    assert session.status_reason == "It reports being blocked without asking. Send it a message."
    assert queries.needs_you(owner).blocked == [session]
    assert queries.count_badge(owner) == queries.needs_you(owner).count == 1
    assert queries.count_badge(stranger) == 0

    assert messages.post_message(session_id=session.pk, by=owner, text="Use the EU one.")
    assert queries.count_badge(owner) == 0


def test_a_blocked_session_with_an_open_ask_is_one_card(session: Session, owner: User) -> None:
    AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="Go on.")
    turn = session.runs.latest("number")
    from tests.factories import claim, finish

    finish(claim(turn), Outcome.BLOCKED)
    session.refresh_from_db()
    assert session.status == Status.WAITING_HUMAN
    assert queries.needs_you(owner).count == queries.count_badge(owner) == 1


@pytest.mark.case("C115")
@pytest.mark.usefixtures("elsewhere")
def test_whatever_else_a_session_is_it_never_counts(owner: User) -> None:
    for state in (AgentState.DRAFT, AgentState.ACTIVE):
        AgentFactory(owners=[owner], lifecycle=state)
        AgentFactory(owners=[owner], lifecycle=state, wake={"kind": "on_message"})
    RunFactory(session=home_of(AgentFactory(owners=[owner])))
    for outcome in (Outcome.NO_WORK, Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED):
        turn_of(home_of(AgentFactory(owners=[owner], wake={"kind": "continuous"})), outcome)
    assert queries.count_badge(owner) == queries.needs_you(owner).count == 0
    assert {session.status for session in queries.fine_sessions(owner)} == {
        Status.DRAFT,
        Status.MANUAL,
        Status.WAITING_EVENT,
        Status.BACKING_OFF,
        Status.WAITING_RESOURCE,
    }
    assert {session.status for session in queries.working_sessions(owner)} == {Status.QUEUED}


@pytest.mark.parametrize("cards", [1, 3])
def test_the_queue_takes_as_many_queries_for_many_cards_as_for_one(
    agent: Agent, owner: User, cards: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(cards):
        AskFactory(session=open_session(agent), action=REFUND)
        turn_of(open_session(agent), Outcome.BLOCKED)
    with django_assert_num_queries(3):
        waiting = queries.needs_you(owner)
        for ask in waiting.asks:
            assert (ask.agent.slug, ask.run.number, ask.gate.number) == ("ledger", 1, 0)
            assert len(ask.options.all()) == 2
        assert {blocked.agent.slug for blocked in waiting.blocked} == {"ledger"}
    with django_assert_num_queries(2):
        assert queries.count_badge(owner) == 2 * cards


@pytest.mark.parametrize("decided", [1, 3])
@pytest.mark.usefixtures("elsewhere")
def test_so_does_the_history(
    agent: Agent, owner: User, decided: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    asks = [AskFactory(session=open_session(agent), action=REFUND) for _ in range(decided)]
    for ask in asks:
        verdict_on(ask, owner)
    with django_assert_num_queries(2):
        found = list(queries.decided_asks(owner))
        assert [ask.pk for ask in found] == [ask.pk for ask in reversed(asks)]
        assert {ask.decision.decided_by.username for ask in found} == {"olga"}


def test_notices_are_mine_newest_first_and_wait_on_nobody(
    session: Session, owner: User, stranger: User
) -> None:
    from agents.events.log import record_event
    from agents.locking import lock_session

    locked = lock_session(session.pk)
    for text in ("one", "two"):
        record_event(locked, "notice", actor="agent:ledger", text=text)
    assert [notice.text for notice in queries.notices(owner)] == ["two", "one"]
    assert list(queries.notices(stranger)) == []
    assert queries.count_badge(owner) == 0


@pytest.mark.usefixtures("session")
def test_nobody_sees_anything_not_even_what_has_no_owner(agent: Agent) -> None:
    agent.owners.clear()
    nobody = cast("User", AnonymousUser())
    assert not access.agents_of(nobody).exists()
    assert not access.sessions_of(nobody).exists()
    assert queries.count_badge(nobody) == 0
