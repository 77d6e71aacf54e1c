"""Time approves nothing: an ask that nobody answered closes, its session pauses, and both say so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from agents import controls
from agents.db.expressions import database_now
from agents.jobs import tick
from agents.lifecycle import RunStatus, SessionState, Status
from agents.models import Session
from asks.answering import answer_ask
from asks.backlog import backlog_asks, reopen_ask
from asks.deadlines.expiry import expire_due_asks
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Refusal, Verdict
from asks.queue import queries
from asks.refusals import Refused
from tests.factories import REFUND, AskFactory, ask, claim, draft, echo_of, verdict_on

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def let_time_pass(asked: Ask) -> None:
    """As if the ask had been raised longer ago than it may wait."""
    then = database_now() - 2 * HOUR
    Ask.objects.filter(pk=asked.pk).update(opened_at=then, expires_at=then + HOUR)


@pytest.fixture
def expired(session: Session) -> Ask:
    asked: Ask = AskFactory(session=session, action=REFUND, expires_in=HOUR)
    let_time_pass(asked)
    assert expire_due_asks() == 1
    asked.refresh_from_db()
    session.refresh_from_db()
    return asked


@pytest.mark.case("aoa-25", "X13")
def test_expiry_approves_nothing_and_pauses(expired: Ask, session: Session) -> None:
    assert expired.status == AskStatus.EXPIRED
    assert not Verdict.objects.exists()
    assert not session.inbox.exists()
    assert [run.status for run in session.runs.all()] == [RunStatus.CONTINUED]
    assert (session.state, session.status) == (SessionState.PAUSED, Status.PAUSED)
    assert session.status_reason == "Paused: a question expired unanswered."
    assert "nothing was approved" in session.events.get(kind="expired").text
    assert session.open_asks == 0


def test_an_ask_expires_when_its_time_has_come_and_not_before(session: Session) -> None:
    asked = AskFactory(session=session, expires_in=HOUR)
    assert asked.expires_at == asked.opened_at + HOUR
    assert expire_due_asks() == 0
    let_time_pass(asked)
    assert expire_due_asks() == 1
    assert expire_due_asks() == 0


def test_an_ask_without_a_time_waits_for_ever(session: Session) -> None:
    asked = AskFactory(session=session)
    Ask.objects.filter(pk=asked.pk).update(opened_at=database_now() - timedelta(days=3000))
    assert expire_due_asks() == 0


def test_a_late_answer_is_told_so(expired: Ask, owner: User) -> None:
    result = answer_ask(ask_id=expired.pk, by=owner, option="approve", echo=echo_of(expired))
    assert isinstance(result, Refused)
    assert (result.reason, result.http_status) == (Reason.EXPIRED, 410)


@pytest.mark.usefixtures("expired")
def test_time_does_not_resume_what_expiry_paused(session: Session, owner: User) -> None:
    tick.run_tick()
    assert session.runs.count() == 1
    assert queries.count_badge(owner) == 0


@pytest.mark.case("X13")
def test_an_expired_ask_stays_in_the_backlog_until_it_is_asked_again(
    expired: Ask, owner: User, stranger: User
) -> None:
    assert list(backlog_asks(owner)) == [expired]
    assert list(backlog_asks(stranger)) == []
    fresh = reopen_ask(ask_id=expired.pk, by=owner)
    assert isinstance(fresh, Ask)
    assert list(backlog_asks(owner)) == []
    assert [card.pk for card in queries.needs_you(owner).asks] == [fresh.pk]


def test_asking_again_gives_a_fresh_ask_with_as_much_time(
    expired: Ask, session: Session, owner: User
) -> None:
    fresh = reopen_ask(ask_id=expired.pk, by=owner)
    assert isinstance(fresh, Ask)
    expired.refresh_from_db()
    session.refresh_from_db()
    assert (expired.status, expired.repeated_by) == (AskStatus.EXPIRED, fresh)
    assert (fresh.status, fresh.prompt, fresh.gate.params) == (
        "open",
        expired.prompt,
        expired.gate.params,
    )
    assert fresh.expires_at == fresh.opened_at + HOUR
    assert (session.state, session.status) == (SessionState.ACTIVE, Status.WAITING_HUMAN)
    assert session.runs.count() == 1

    verdict_on(fresh, owner)
    (given,) = claim(session.runs.latest("number")).given
    assert given.data["ask_id"] == fresh.pk


def test_asking_again_twice_is_asking_once(expired: Ask, owner: User, colleague: User) -> None:
    fresh = reopen_ask(ask_id=expired.pk, by=owner)
    assert reopen_ask(ask_id=expired.pk, by=colleague) == fresh
    assert Ask.objects.filter(status=AskStatus.OPEN).count() == 1


@pytest.mark.parametrize("ask_id", [4711, 10**30, "x", None])
def test_what_is_not_there_is_not_asked_again(owner: User, ask_id: object) -> None:
    refused = reopen_ask(ask_id=ask_id, by=owner)  # type: ignore[arg-type]
    assert isinstance(refused, Refused)
    assert refused.http_status == 404


def test_a_stranger_asks_nothing_again(expired: Ask, stranger: User) -> None:
    refused = reopen_ask(ask_id=expired.pk, by=stranger)
    assert isinstance(refused, Refused)
    assert refused.http_status == 404
    assert Refusal.objects.get().by == stranger


def test_only_what_expired_is_asked_again(session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    refused = reopen_ask(ask_id=asked.pk, by=owner)
    assert isinstance(refused, Refused)
    assert refused.http_status == 409
    assert Ask.objects.count() == 1


def test_a_resumed_session_goes_on_and_is_told(expired: Ask, session: Session, owner: User) -> None:
    controls.resume_session(session_id=session.pk, by=owner)
    turn = claim(session.runs.latest("number"))
    assert turn.given == ()
    assert any("[expired]: Nobody answered in time." in line for line in turn.history)


def test_one_of_two_expires_and_the_other_is_still_answered(session: Session, owner: User) -> None:
    first, second = ask(session, draft(expires_in=HOUR), draft())
    let_time_pass(first)
    assert expire_due_asks() == 1
    session.refresh_from_db()
    assert (session.status, session.open_asks) == (Status.PAUSED, 1)
    assert session.runs.get().status == RunStatus.WAITING_HUMAN
    assert [card.pk for card in queries.needs_you(owner).asks] == [second.pk]

    verdict_on(second, owner)
    assert session.runs.get().status == RunStatus.CONTINUED
    controls.resume_session(session_id=session.pk, by=owner)
    assert len(claim(session.runs.latest("number")).given) == 1


def test_a_person_who_starts_the_session_lifts_the_pause(
    expired: Ask, session: Session, owner: User
) -> None:
    assert controls.start_session(session_id=session.pk, by=owner) is not None
    session.refresh_from_db()
    assert (session.state, session.state_reason) == (SessionState.ACTIVE, "")
