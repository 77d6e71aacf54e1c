"""Whom a run was started for does not approve what it wants to do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.db.expressions import database_now
from agents.lifecycle import Outcome
from agents.models import Agent, Session
from asks import access, delegation
from asks.answering import Answered, answer_ask
from asks.lifecycle import Reason
from asks.models import Ask, Delegation, LedgerRecord
from asks.queue import queries
from asks.refusals import Refused
from tests.factories import (
    REFUND,
    AgentFactory,
    UserFactory,
    claim,
    draft,
    echo_of,
    finish,
    home_of,
)
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def reply(ask: Ask, by: User) -> object:
    return answer_ask(ask_id=ask.pk, by=by, option="approve", echo=echo_of(ask))


def reason_of(ask: Ask, by: User) -> str:
    result = reply(ask, by)
    assert isinstance(result, Refused), result
    return result.reason


@pytest.fixture
def ask(agent: Agent, session: Session) -> Ask:
    """Olga started the run."""
    in_force(agent, refund(four_eyes="required"))
    return asked(session)


def test_the_starter_is_refused_and_the_colleague_is_not(
    ask: Ask, owner: User, colleague: User
) -> None:
    assert reason_of(ask, owner) == Reason.FOUR_EYES
    assert (queries.count_badge(owner), queries.count_badge(colleague)) == (0, 1)
    assert access.may_see(owner, ask)
    assert isinstance(reply(ask, colleague), Answered)


def test_the_writer_of_a_message_is_one_too(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    """Both wrote before the run began; it was started for both."""
    third = UserFactory(username="thea")
    agent.owners.add(third)
    in_force(agent, refund(four_eyes="required"))
    messages.post_message(session_id=session.pk, by=owner, text="Refund Nordlicht.")
    messages.post_message(session_id=session.pk, by=colleague, text="In full.")
    finish(claim(session.runs.latest("number")), Outcome.BLOCKED, asks=(draft(action=REFUND),))
    ask = Ask.objects.get()
    assert ask.terms["started_for"] == ["carl", "olga"]
    assert {reason_of(ask, person) for person in (owner, colleague)} == {Reason.FOUR_EYES}
    assert isinstance(reply(ask, third), Answered)


def test_a_run_that_goes_on_is_still_for_who_started_it(
    ask: Ask, session: Session, owner: User, colleague: User
) -> None:
    """Carl's answer wakes the next run; that does not make it Carl's."""
    reply(ask, colleague)
    run = finish(
        claim(session.runs.latest("number")), Outcome.BLOCKED, asks=(draft(action=REFUND),)
    )
    later = run.asks.get()
    assert reason_of(later, owner) == Reason.FOUR_EYES
    assert isinstance(reply(later, colleague), Answered)


def test_what_the_schedule_starts_is_started_for_nobody(owner: User) -> None:
    agent = AgentFactory(owners=[owner], wake={"kind": "continuous"})
    in_force(agent, refund(four_eyes="required"))
    session = home_of(agent)
    run = session.runs.latest("number")
    assert run.requested_by is None
    finish(claim(run), Outcome.BLOCKED, asks=(draft(action=REFUND),))
    assert isinstance(reply(Ask.objects.get(), owner), Answered)


def test_starting_by_hand_moves_it(agent: Agent, session: Session, colleague: User) -> None:
    in_force(agent, refund(four_eyes="required"))
    run = controls.start_session(session_id=session.pk, by=colleague)
    assert run is not None
    finish(claim(run), Outcome.BLOCKED, asks=(draft(action=REFUND),))
    assert Ask.objects.get().barred == [colleague.pk]


@pytest.mark.case("C80")
def test_the_only_owner_may_where_the_policy_waives_it_and_that_is_said(owner: User) -> None:
    agent = AgentFactory(owners=[owner])
    in_force(agent, refund(four_eyes="unless_alone"))
    ask = asked(home_of(agent))
    assert ask.terms["four_eyes"] == "waived"
    result = reply(ask, owner)
    assert isinstance(result, Answered)
    record = LedgerRecord.objects.get(kind="verdict")
    assert '"four_eyes":"waived"' in record.body
    assert '"started_for":["olga"]' in record.body


@pytest.mark.case("C80")
def test_the_only_owner_is_stuck_where_it_does_not(owner: User) -> None:
    agent = AgentFactory(owners=[owner])
    in_force(agent, refund(four_eyes="required"))
    assert reason_of(asked(home_of(agent)), owner) == Reason.FOUR_EYES


@pytest.mark.case("C80")
def test_a_waiver_ends_when_somebody_else_comes(owner: User, colleague: User) -> None:
    agent = AgentFactory(owners=[owner])
    in_force(agent, refund(four_eyes="unless_alone"))
    ask = asked(home_of(agent))
    agent.owners.add(colleague)
    assert reason_of(ask, owner) == Reason.FOUR_EYES
    assert isinstance(reply(ask, colleague), Answered)


def test_with_others_there_nothing_is_waived(agent: Agent, session: Session, owner: User) -> None:
    in_force(agent, refund(four_eyes="unless_alone"))
    ask = asked(session)
    assert ask.terms["four_eyes"] == "kept"
    assert reason_of(ask, owner) == Reason.FOUR_EYES


def test_nobody_answers_in_the_name_of_the_starter(ask: Ask, owner: User, stranger: User) -> None:
    """Sam has only Olga's word, and Olga started it."""
    delegation.create_delegation(
        by=owner, to=stranger, ends_at=database_now() + DAY, reason="Away."
    )
    assert reason_of(ask, stranger) == Reason.FOUR_EYES
    assert queries.count_badge(stranger) == 0


def test_the_starter_answers_in_nobodys_name(
    ask: Ask, owner: User, colleague: User, stranger: User
) -> None:
    delegation.create_delegation(
        by=colleague, to=owner, ends_at=database_now() + DAY, reason="Away."
    )
    assert reason_of(ask, owner) == Reason.FOUR_EYES
    assert queries.count_badge(owner) == 0


def test_the_chain_is_looked_through_to_an_unbarred_name(
    ask: Ask, owner: User, colleague: User, stranger: User
) -> None:
    for giver in (owner, colleague):
        delegation.create_delegation(
            by=giver, to=stranger, ends_at=database_now() + DAY, reason="Away."
        )
    assert queries.count_badge(stranger) == 1
    (card,) = queries.needs_you(stranger).asks
    carls = Delegation.objects.get(delegator=colleague)
    assert card.by_delegation == carls.pk  # type: ignore[attr-defined]
    result = reply(ask, stranger)
    assert isinstance(result, Answered)
    assert result.verdict.on_behalf_of == colleague
