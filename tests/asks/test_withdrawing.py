"""Taking a question back: it approves nothing, and the run goes on."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.lifecycle import RunStatus, Status
from agents.models import Session
from asks.answering import answer_ask
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Refusal, Verdict
from asks.refusals import Refused
from asks.withdrawing import withdraw_ask
from tests.factories import MONEY, AskFactory, ask, claim, draft, verdict_on

pytestmark = pytest.mark.django_db


@pytest.mark.case("aoa-40", "X14")
def test_a_withdrawn_ask_lets_the_run_go_on_without_a_verdict(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session)
    result = withdraw_ask(ask_id=asked.pk, by=owner, reason=" Not needed any more. ")
    assert isinstance(result, Ask)
    assert (result.status, result.closed_by, result.close_reason) == (
        AskStatus.WITHDRAWN,
        owner,
        "Not needed any more.",
    )
    turn = claim(session.runs.latest("number"))
    assert turn.given == ()
    assert turn.history[-1] == "human:olga [withdrawn]: Not needed any more."
    assert not Verdict.objects.exists()
    session.refresh_from_db()
    assert (session.status, session.open_asks) == (Status.RUNNING, 0)


def test_without_a_reason_the_thread_says_that_nothing_was_approved(
    session: Session, owner: User
) -> None:
    withdraw_ask(ask_id=AskFactory(session=session).pk, by=owner)
    assert "Nothing was approved" in session.events.get(kind="withdrawn").text


@pytest.mark.case("aoa-40")
def test_withdrawing_twice_is_one_withdrawal(
    session: Session, owner: User, colleague: User
) -> None:
    asked = AskFactory(session=session)
    first = withdraw_ask(ask_id=asked.pk, by=owner, reason="first")
    again = withdraw_ask(ask_id=asked.pk, by=owner, reason="second")
    other = withdraw_ask(ask_id=asked.pk, by=colleague)
    assert isinstance(first, Ask)
    assert isinstance(again, Ask)
    assert again.close_reason == "first"
    assert isinstance(other, Refused)
    assert (other.reason, other.detail) == (
        Reason.CLOSED,
        "This question was already withdrawn by olga.",
    )
    assert session.runs.count() == 2


def test_an_answered_ask_is_not_taken_back(session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    verdict_on(asked, owner)
    refused = withdraw_ask(ask_id=asked.pk, by=owner)
    assert isinstance(refused, Refused)
    assert refused.http_status == 409
    assert Refusal.objects.get().ask == asked


@pytest.mark.parametrize("ask_id", [4711, 0, -1, 10**30, "x", None, 1.5, True, "1" * 5000])
def test_what_is_not_there_is_not_found(owner: User, ask_id: object) -> None:
    refused = withdraw_ask(ask_id=ask_id, by=owner)  # type: ignore[arg-type]
    assert isinstance(refused, Refused)
    assert refused.http_status == 404


def test_a_stranger_withdraws_nothing(session: Session, stranger: User) -> None:
    asked = AskFactory(session=session)
    refused = withdraw_ask(ask_id=asked.pk, by=stranger, reason="Mine now.")
    assert isinstance(refused, Refused)
    assert refused.http_status == 404
    asked.refresh_from_db()
    assert asked.status == AskStatus.OPEN


def test_a_money_critical_ask_can_be_taken_back_by_a_click(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=MONEY)
    assert isinstance(withdraw_ask(ask_id=asked.pk, by=owner), Ask)


@pytest.mark.case("C58")
def test_a_run_waits_on_for_what_is_left(session: Session, owner: User) -> None:
    first, second = ask(session, draft(), draft())
    withdraw_ask(ask_id=first.pk, by=owner)
    assert list(session.runs.values_list("status", flat=True)) == [RunStatus.WAITING_HUMAN]
    answer_ask(ask_id=second.pk, by=owner, option="eu")
    assert session.runs.count() == 2


@pytest.mark.parametrize("reason", ["\0", "\ud800", "x" * 2_000_000, "\u200b", None, 5])
def test_any_reason_will_do(session: Session, owner: User, reason: object) -> None:
    result = withdraw_ask(ask_id=AskFactory(session=session).pk, by=owner, reason=reason)  # type: ignore[arg-type]
    assert isinstance(result, Ask)
    assert len(result.close_reason) <= 1000
