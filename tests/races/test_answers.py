"""Two people, two clicks, two processes: an ask is closed once, and the run wakes once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User

from agents import messages, settlement
from agents.db.expressions import database_now
from agents.lifecycle import Cause, Outcome, RunStatus
from agents.models import Session
from agents.running.runtime import Ended, Turn
from asks.answering import Answered, Result, answer_ask
from asks.backlog import reopen_ask
from asks.deadlines.expiry import expire_due_asks
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Verdict
from asks.refusals import Refused
from asks.retirement import retire_agent
from asks.withdrawing import withdraw_ask
from tests.factories import REFUND, AskFactory, ask, claim, draft, echo_of, finish
from tests.races.racing import pass_by, race

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def runs_of(session: Session) -> list[str]:
    return list(session.runs.order_by("number").values_list("status", flat=True))


@pytest.mark.case("C40")
def test_a_double_click_is_one_answer(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    click = partial(answer_ask, ask_id=asked.pk, by=owner, option="approve", echo=echo_of(asked))
    raced = race(click, click)
    assert isinstance(raced.first, Answered)
    assert isinstance(raced.second, Answered)
    assert (raced.first.repeated, raced.second.repeated) == (False, True)
    assert raced.first.verdict == raced.second.verdict
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.QUEUED]
    assert session.inbox.count() == 1


@pytest.mark.case("C40", "C41")
def test_two_buttons_of_one_person(asked: Ask, owner: User) -> None:
    raced = race(
        partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"),
        partial(answer_ask, ask_id=asked.pk, by=owner, option="us"),
    )
    assert isinstance(raced.second, Refused)
    assert raced.second.reason == Reason.CLOSED
    assert Verdict.objects.get().option_label == "EU ledger"


@pytest.mark.case("C41", "C47")
@pytest.mark.parametrize("option", ["eu", "us"])
def test_two_people(asked: Ask, owner: User, colleague: User, option: str) -> None:
    raced = race(
        partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"),
        partial(answer_ask, ask_id=asked.pk, by=colleague, option=option),
    )
    assert isinstance(raced.second, Refused)
    assert raced.second.detail == "This question was already answered by olga."
    assert Verdict.objects.get().decided_by == owner
    assert asked.session.runs.count() == 2


@pytest.mark.case("C56", "X9")
def test_the_last_two_asks_of_a_run_wake_it_once(
    session: Session, owner: User, colleague: User
) -> None:
    first, second = ask(session, draft(), draft())
    race(
        partial(answer_ask, ask_id=first.pk, by=owner, option="eu"),
        partial(answer_ask, ask_id=second.pk, by=colleague, option="us"),
    )
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.QUEUED]
    assert len(claim(session.runs.latest("number")).given) == 2


def test_answer_then_withdraw(asked: Ask, owner: User, colleague: User) -> None:
    raced = race(
        partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"),
        partial(withdraw_ask, ask_id=asked.pk, by=colleague),
    )
    assert isinstance(raced.second, Refused)
    assert raced.second.detail == "This question was already answered by olga."
    assert runs_of(asked.session) == [RunStatus.CONTINUED, RunStatus.QUEUED]


def test_withdraw_then_answer(asked: Ask, owner: User, colleague: User) -> None:
    raced = race(
        partial(withdraw_ask, ask_id=asked.pk, by=colleague),
        partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"),
    )
    assert isinstance(raced.second, Refused)
    assert raced.second.detail == "This question was already withdrawn by carl."
    assert not Verdict.objects.exists()
    assert runs_of(asked.session) == [RunStatus.CONTINUED, RunStatus.QUEUED]


def let_time_pass(asked: Ask, seconds: float) -> None:
    moment = database_now() - timedelta(seconds=seconds)
    Ask.objects.filter(pk=asked.pk).update(expires_at=moment)


@pytest.mark.case("C43")
def test_answer_then_expiry(asked: Ask, owner: User) -> None:
    """The answer comes in time, but the deadline passes before it is committed."""
    let_time_pass(asked, -2)
    asked.refresh_from_db()
    until = asked.expires_at
    assert until is not None

    def answer_until_the_time_is_up() -> Result:
        result = answer_ask(ask_id=asked.pk, by=owner, option="eu")
        while database_now() <= until:
            pass
        return result

    raced = pass_by(answer_until_the_time_is_up, expire_due_asks)
    assert isinstance(raced.first, Answered)
    assert raced.second == 0
    assert expire_due_asks() == 0
    asked.refresh_from_db()
    assert asked.status == AskStatus.ANSWERED


@pytest.mark.case("C43")
def test_expiry_leaves_a_session_that_somebody_is_busy_with(asked: Ask, owner: User) -> None:
    let_time_pass(asked, 1)
    raced = pass_by(partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"), expire_due_asks)
    assert isinstance(raced.first, Refused)
    assert raced.second == 0
    assert expire_due_asks() == 1


@pytest.mark.case("C43")
def test_expiry_then_answer(asked: Ask, owner: User) -> None:
    let_time_pass(asked, 1)
    raced = race(expire_due_asks, partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"))
    assert raced.first == 1
    assert isinstance(raced.second, Refused)
    assert raced.second.http_status == 410
    assert not Verdict.objects.exists()


def test_expiry_twice_at_once(asked: Ask) -> None:
    let_time_pass(asked, 1)
    raced = pass_by(expire_due_asks, expire_due_asks)
    assert (raced.first, raced.second) == (1, 0)


def test_asking_again_twice_at_once(asked: Ask, owner: User, colleague: User) -> None:
    let_time_pass(asked, 1)
    expire_due_asks()
    raced = race(
        partial(reopen_ask, ask_id=asked.pk, by=owner),
        partial(reopen_ask, ask_id=asked.pk, by=colleague),
    )
    assert raced.first == raced.second
    assert Ask.objects.filter(status=AskStatus.OPEN).count() == 1


@pytest.fixture
def later(session: Session, asked: Ask, owner: User) -> Turn:
    """Return a running turn while a question of an earlier run is still open."""
    messages.post_message(session_id=session.pk, by=owner, text="Go on without me.")
    return claim(session.runs.latest("number"))


ENDS = [
    (Ended(outcome=Outcome.WORK_DONE), RunStatus.COMPLETED),
    (Ended(outcome=Outcome.BLOCKED), RunStatus.CONTINUED),
    (Ended(outcome=Outcome.BLOCKED, asks=(draft(),)), RunStatus.CONTINUED),
    (Ended(outcome=Outcome.RETRYABLE_ERROR), RunStatus.FAILED),
    (Ended(outcome=Outcome.RATE_LIMITED), RunStatus.FAILED),
]


@pytest.mark.case("C44", "aoa-30")
@pytest.mark.parametrize(("ended", "status"), ENDS)
def test_answer_then_settle(
    session: Session, asked: Ask, owner: User, later: Turn, ended: Ended, status: RunStatus
) -> None:
    """A turn that ends must not miss an answer that came before its end."""
    raced = race(
        partial(answer_ask, ask_id=asked.pk, by=owner, option="us"),
        partial(settlement.settle_run, later.fence, ended),
    )
    assert raced.second
    assert runs_of(session) == [RunStatus.CONTINUED, status, RunStatus.QUEUED]
    following = session.runs.latest("number")
    assert following.cause == Cause.HUMAN
    assert "US ledger" in [given.body for given in claim(following).given]


@pytest.mark.case("C44", "aoa-30")
@pytest.mark.parametrize(("ended", "status"), ENDS)
def test_settle_then_answer(
    session: Session, asked: Ask, owner: User, later: Turn, ended: Ended, status: RunStatus
) -> None:
    raced = race(
        partial(settlement.settle_run, later.fence, ended),
        partial(answer_ask, ask_id=asked.pk, by=owner, option="us"),
    )
    assert isinstance(raced.second, Answered)
    alone = {RunStatus.COMPLETED, RunStatus.FAILED}
    if not ended.asks:  # nothing arrived before it ended
        status = status if status in alone else RunStatus.COMPLETED
    assert runs_of(session) == [RunStatus.CONTINUED, status, RunStatus.QUEUED]
    assert "US ledger" in [given.body for given in claim(session.runs.latest("number")).given]


@pytest.mark.case("C52")
def test_nobody_answers_what_is_not_asked_yet(session: Session, owner: User) -> None:
    """Nobody else sees an ask, or a part of it, before it is committed."""
    messages.post_message(session_id=session.pk, by=owner, text="Start.")
    turn = claim(session.runs.get())

    def raise_and_name() -> int:
        finish(turn, Outcome.BLOCKED, asks=(draft(),))
        return Ask.objects.latest("pk").pk

    def answer_the_next(ask_id: int) -> Result:
        return answer_ask(ask_id=ask_id, by=owner, option="eu")

    known = AskFactory().pk + 1
    raced = pass_by(raise_and_name, partial(answer_the_next, known))
    assert raced.first == known
    assert isinstance(raced.second, Refused)
    assert raced.second.http_status == 404
    assert isinstance(answer_the_next(known), Answered)


@pytest.mark.case("X15")
@pytest.mark.parametrize("retire_first", [True, False])
def test_retire_and_answer(asked: Ask, owner: User, retire_first: bool) -> None:
    verbs: list[Callable[[], object]] = [
        partial(retire_agent, agent_id=asked.agent_id, by=owner),
        partial(answer_ask, ask_id=asked.pk, by=owner, option="eu"),
    ]
    raced = race(*(verbs if retire_first else reversed(verbs)))
    asked.refresh_from_db()
    assert asked.status == (AskStatus.WITHDRAWN if retire_first else AskStatus.ANSWERED)
    assert isinstance(raced.second, Refused) == retire_first
    assert not asked.session.runs.filter(status=RunStatus.QUEUED).exists()
