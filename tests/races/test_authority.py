"""Votes, claims, deadlines and policies race with answers on two connections. Each has one outcome."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.db import connections

from agents.db.expressions import database_now
from agents.models import Agent, Session
from asks.actions import grants
from asks.answering import Answered, Result, Voted, answer_ask
from asks.backlog import dismiss_ask, reopen_ask
from asks.claiming import claim_ask
from asks.deadlines.expiry import expire_due_asks
from asks.deadlines.extension import extend_deadline
from asks.deadlines.nudges import send_due_nudges
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Dropped, Grant, Nudge, Policy, Redemption, Verdict, Vote
from asks.policies import versions
from asks.refusals import Refused
from tests.factories import REFUND, AskFactory, UserFactory, echo_of, verdict_on
from tests.factories import claim as claim_run
from tests.policies.world import asked, in_force, refund
from tests.races.racing import pass_by, race

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


def vote(ask: Ask, by: User, option: str = "approve") -> partial[Result]:
    return partial(answer_ask, ask_id=ask.pk, by=by, option=option, echo=echo_of(ask))


def test_two_last_votes_are_one_verdict(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    raced = race(vote(ask, owner), vote(ask, colleague))
    assert isinstance(raced.first, Voted)
    assert isinstance(raced.second, Answered)
    assert Verdict.objects.get().decided_by == colleague
    assert Vote.objects.count() == 2
    assert Grant.objects.count() == 1
    assert session.runs.count() == 2


def test_a_vote_too_many_comes_too_late(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    third = UserFactory(username="thea")
    agent.owners.add(third)
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    vote(ask, owner)()
    raced = race(vote(ask, colleague), vote(ask, third, "deny"))
    assert isinstance(raced.first, Answered)
    assert isinstance(raced.second, Refused)
    assert raced.second.reason == Reason.CLOSED
    assert Vote.objects.count() == 2


def test_a_double_click_is_one_vote(agent: Agent, session: Session, owner: User) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    raced = race(vote(ask, owner), vote(ask, owner))
    assert isinstance(raced.second, Voted)
    assert raced.second.repeated
    assert Vote.objects.count() == 1


@pytest.mark.case("C49")
def test_of_twenty_claims_at_once_one_wins(agent: Agent, session: Session) -> None:
    people = [UserFactory(username=f"owner{number}") for number in range(20)]
    agent.owners.add(*people)
    ask = AskFactory(session=session)
    results: list[object] = []
    begin = threading.Barrier(20)

    def try_it(person: User) -> None:
        try:
            begin.wait(60)
            results.append(claim_ask(ask_id=ask.pk, by=person))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=try_it, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    won = [result for result in results if isinstance(result, Ask)]
    lost = [result for result in results if isinstance(result, Refused)]
    assert (len(won), len(lost)) == (1, 19)
    ask.refresh_from_db()
    assert ask.claimed_by is not None
    name = ask.claimed_by.get_username()
    assert {refused.detail for refused in lost} == {f"This question is claimed by {name}."}


def test_a_claim_before_an_answer_stands(session: Session, owner: User, colleague: User) -> None:
    ask = AskFactory(session=session)
    raced = race(
        partial(claim_ask, ask_id=ask.pk, by=owner),
        partial(answer_ask, ask_id=ask.pk, by=colleague, option="eu"),
    )
    assert isinstance(raced.second, Refused)
    assert raced.second.reason == Reason.CLAIMED


def test_an_answer_before_a_claim_stands(session: Session, owner: User, colleague: User) -> None:
    ask = AskFactory(session=session)
    raced = race(
        partial(answer_ask, ask_id=ask.pk, by=colleague, option="eu"),
        partial(claim_ask, ask_id=ask.pk, by=owner),
    )
    assert isinstance(raced.second, Refused)
    assert raced.second.reason == Reason.CLOSED


@pytest.mark.case("C43")
def test_expiry_passes_by_a_vote_that_is_under_way(
    agent: Agent, session: Session, owner: User
) -> None:
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now() + timedelta(seconds=1))
    raced = pass_by(vote(ask, owner), expire_due_asks)
    assert isinstance(raced.first, Voted)
    assert raced.second == 0


@pytest.mark.case("C43")
def test_an_answer_waits_for_the_expiry_and_comes_too_late(session: Session, owner: User) -> None:
    ask = AskFactory(session=session, action=REFUND)
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now())
    raced = race(expire_due_asks, vote(ask, owner))
    assert raced.first == 1
    assert isinstance(raced.second, Refused)
    assert raced.second.reason == Reason.EXPIRED
    assert not Grant.objects.exists()


def test_more_time_and_expiry_are_one_after_the_other(
    agent: Agent, session: Session, owner: User
) -> None:
    in_force(agent, refund(), expires_after="PT1H")
    ask = asked(session)
    raced = pass_by(partial(extend_deadline, ask_id=ask.pk, by=owner), expire_due_asks)
    assert isinstance(raced.first, Ask)
    assert raced.second == 0


def test_a_stale_answer_and_another_make_one_fresh_ask(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    ask = asked(session)
    echo = echo_of(ask)
    in_force(agent, refund())
    late = partial(answer_ask, ask_id=ask.pk, option="approve", echo=echo)
    raced = race(partial(late, by=owner), partial(late, by=colleague))
    assert isinstance(raced.first, Refused)
    assert isinstance(raced.second, Refused)
    assert raced.first.replaced_by == raced.second.replaced_by
    assert Ask.objects.filter(status=AskStatus.OPEN).count() == 1
    assert not Verdict.objects.exists()


def test_superseding_waits_for_an_answer_that_is_under_way(
    agent: Agent, session: Session, owner: User
) -> None:
    """The agent raises another action with the same request key while the owner answers."""
    from agents import messages

    ask = asked(session, key="k")
    raced = race(
        vote(ask, owner),
        partial(messages.post_message, session_id=session.pk, by=owner, text="Go on."),
    )
    assert isinstance(raced.first, Answered)
    ask.refresh_from_db()
    assert ask.status == AskStatus.ANSWERED


def test_a_policy_that_comes_first_makes_the_answer_stale(
    agent: Agent, session: Session, owner: User
) -> None:
    ask = asked(session)
    click = vote(ask, owner)
    in_force(agent, refund())
    result = click()
    assert isinstance(result, Refused)
    assert result.reason == Reason.STALE


def test_two_versions_at_once_are_two_numbers(agent: Agent, owner: User) -> None:
    add = partial(versions.add_version, agent_id=agent.pk, rules={}, why="x", by=owner)
    race(add, add)
    assert list(Policy.objects.order_by("version").values_list("version", flat=True)) == [1, 2]


def test_a_grant_is_taken_by_one_of_two(session: Session, owner: User) -> None:
    """``begin_effect`` commits by itself, so both start together instead of one inside the other."""
    verdict_on(AskFactory(session=session, action=REFUND), owner)
    turn = claim_run(session.runs.latest("number"))
    take = partial(
        grants.begin_effect,
        session_id=session.pk,
        operation="refund",
        params=REFUND.params,
        fence=turn.fence,
    )
    found: list[object] = []
    begin = threading.Barrier(5)

    def try_it() -> None:
        try:
            begin.wait(60)
            found.append(take())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=try_it) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len([one for one in found if one is not None]) == 1
    assert len(found) == 5
    assert Redemption.objects.count() == 1


def test_a_reminder_is_given_once_by_two_workers(agent: Agent, session: Session) -> None:
    in_force(agent, refund(), remind_after="PT1H")
    asked(session)
    Nudge.objects.update(due_at=database_now())
    raced = pass_by(send_due_nudges, send_due_nudges)
    assert (raced.first, raced.second) == (1, 0)
    assert session.events.filter(kind="reminded").count() == 1


@pytest.mark.parametrize("first", ["again", "drop"])
def test_asking_again_or_dropping_not_both(session: Session, owner: User, first: str) -> None:
    ask = AskFactory(session=session, action=REFUND, expires_in=HOUR)
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now())
    expire_due_asks()
    again = partial(reopen_ask, ask_id=ask.pk, by=owner)
    dropping = partial(dismiss_ask, ask_id=ask.pk, by=owner, reason="Over.")
    raced = race(again, dropping) if first == "again" else race(dropping, again)
    assert isinstance(raced.second, Refused)
    assert Dropped.objects.count() + Ask.objects.filter(status=AskStatus.OPEN).count() == 1
