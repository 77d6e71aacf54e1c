"""The verdict transaction: one answer is one verdict and one wake."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import Cause, InboxState, Outcome, RunStatus, SessionState, Status
from agents.models import Run, Session
from asks import closing
from asks.answering import Answered, answer_ask
from asks.lifecycle import AskStatus, Meaning, Reason
from asks.models import Ask, Refusal, Verdict
from asks.refusals import Refused
from tests.factories import (
    REFUND,
    AskFactory,
    ask,
    begin,
    claim,
    draft,
    echo_of,
    finish,
    turn_of,
    verdict_on,
)

pytestmark = pytest.mark.django_db


def runs_of(session: Session) -> list[str]:
    return list(session.runs.order_by("number").values_list("status", flat=True))


def owed_to(session: Session) -> list[str]:
    return list(
        session.inbox.exclude(state=InboxState.ACKED).order_by("pk").values_list("body", flat=True)
    )


@pytest.mark.case("C45", "C52", "aoa-20")
def test_an_answer_is_recorded_and_wakes_in_one_go(session: Session, owner: User) -> None:
    asked = AskFactory(session=session)

    result = answer_ask(ask_id=asked.pk, by=owner, option="us")

    assert isinstance(result, Answered)
    assert not result.repeated
    session.refresh_from_db()
    verdict = Verdict.objects.get(ask=asked)
    assert (verdict.decided_by, verdict.option_label, verdict.text) == (owner, "US ledger", "")
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.QUEUED]
    assert session.runs.get(number=2).cause == Cause.HUMAN
    assert owed_to(session) == ["US ledger"]
    assert (session.status, session.open_asks) == (Status.QUEUED, 0)
    asked.refresh_from_db()
    assert (asked.status, asked.closed_by) == (AskStatus.ANSWERED, owner)
    assert asked.closed_at == verdict.decided_at


@pytest.mark.case("X5", "aoa-39")
def test_the_next_run_is_given_the_option_with_its_label(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, free_text=True)
    verdict_on(asked, owner, option="us", text="  From Monday.  ")

    (given,) = claim(session.runs.latest("number")).given

    assert (given.kind, given.author) == ("verdict", "human:olga")
    assert given.body == "US ledger — From Monday."
    assert given.data == {
        "ask_id": asked.pk,
        "request_key": asked.request_key,
        "prompt": asked.prompt,
        "option": "us",
        "label": "US ledger",
        "text": "From Monday.",
        "meaning": "answer",
    }


@pytest.mark.case("X14")
def test_words_answer_a_question_without_options(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, options=())
    result = answer_ask(ask_id=asked.pk, by=owner, text="Close it on Friday.")
    assert isinstance(result, Answered)
    assert result.verdict.text == "Close it on Friday."
    assert result.verdict.option is None


def test_words_are_kept_as_they_are(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, options=())
    template = "{{ 7*7 }} {% include 'x' %} <b>&amp;</b> \u202e ünï\u0301"
    verdict_on(asked, owner, text=template)
    (given,) = claim(session.runs.latest("number")).given
    assert given.body == template


@pytest.mark.case("X6")
@pytest.mark.parametrize(
    ("option", "meaning"), [("approve", Meaning.APPROVE), ("deny", Meaning.DENY)]
)
def test_a_verdict_says_what_its_option_means(
    session: Session, owner: User, option: str, meaning: Meaning
) -> None:
    asked = AskFactory(session=session, action=REFUND)
    verdict = verdict_on(asked, owner, option=option)
    assert verdict.meaning == meaning
    assert verdict.echo == echo_of(asked)


@pytest.mark.case("C40")
def test_the_same_answer_again_gets_what_was_recorded(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    echo = echo_of(asked)
    as_a_form_sends_it = {name: str(value) for name, value in echo.items()}
    first = answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=echo)
    second = answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=as_a_form_sends_it)

    assert isinstance(first, Answered)
    assert isinstance(second, Answered)
    assert second.repeated
    assert second.verdict == first.verdict
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.QUEUED]
    assert session.events.filter(kind="verdict").count() == 1
    assert not Refusal.objects.exists()


def test_an_answer_is_the_same_a_week_and_a_run_later(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    echo = echo_of(asked)
    verdict_on(asked, owner)
    finish(claim(session.runs.latest("number")))
    again = answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=echo)
    assert isinstance(again, Answered)
    assert again.repeated


@pytest.mark.parametrize(
    "other", [{"option": "us"}, {"option": "eu", "text": "and quickly"}, {"text": "eu"}]
)
def test_another_answer_by_the_same_person_comes_too_late(
    session: Session, owner: User, other: dict[str, Any]
) -> None:
    asked = AskFactory(session=session, free_text=True)
    verdict_on(asked, owner, option="eu")
    refused = answer_ask(ask_id=asked.pk, by=owner, **other)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.http_status) == (Reason.CLOSED, 409)


@pytest.mark.case("C41", "C47")
@pytest.mark.parametrize("option", ["eu", "us"])
def test_who_comes_second_is_told_who_was_first(
    session: Session, owner: User, colleague: User, option: str
) -> None:
    asked = AskFactory(session=session)
    verdict_on(asked, owner, option="eu")
    refused = answer_ask(ask_id=asked.pk, by=colleague, option=option)
    assert isinstance(refused, Refused)
    assert refused.http_status == 409
    assert refused.detail == "This question was already answered by olga."
    assert Verdict.objects.get().decided_by == owner


@pytest.mark.case("X9", "C56", "C58", "C62")
def test_a_run_goes_on_when_its_last_ask_is_answered(session: Session, owner: User) -> None:
    first, second, third = ask(session, draft(), draft(), draft())
    verdict_on(second, owner, option="us")
    verdict_on(first, owner, option="eu")
    session.refresh_from_db()
    assert runs_of(session) == [RunStatus.WAITING_HUMAN]
    assert (session.status, session.open_asks) == (Status.WAITING_HUMAN, 1)
    assert Run.objects.get().open_asks == 1

    verdict_on(third, owner, option="us")
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.QUEUED]
    turn = claim(session.runs.latest("number"))
    assert [given.data["option"] for given in turn.given] == ["us", "eu", "us"]
    assert [given.data["ask_id"] for given in turn.given] == [second.pk, first.pk, third.pk]


@pytest.mark.case("X8")
def test_all_of_many_verdicts_are_carried_by_one_run(session: Session, owner: User) -> None:
    asked = ask(session, *[draft() for _ in range(9)])
    for one in asked:
        verdict_on(one, owner)
    turn = claim(session.runs.latest("number"))
    assert [given.data["ask_id"] for given in turn.given] == [one.pk for one in asked]
    finish(turn)
    assert owed_to(session) == []


def test_an_ask_that_outlived_its_run_starts_a_run_of_its_own(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="Go on without me.")
    finish(claim(session.runs.latest("number")))
    session.refresh_from_db()
    assert (session.status, session.wake_at) == (Status.WAITING_HUMAN, None)

    verdict_on(asked, owner, option="eu")
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.COMPLETED, RunStatus.QUEUED]
    turn = claim(session.runs.latest("number"))
    assert [given.body for given in turn.given] == ["EU ledger"]


def test_each_ask_that_outlived_its_run_wakes(session: Session, owner: User) -> None:
    first, second = ask(session, draft(), draft())
    messages.post_message(session_id=session.pk, by=owner, text="Go on without me.")
    finish(claim(session.runs.latest("number")))
    verdict_on(first, owner)
    assert runs_of(session)[2:] == [RunStatus.QUEUED]
    finish(claim(session.runs.latest("number")))
    verdict_on(second, owner)
    assert runs_of(session)[3:] == [RunStatus.QUEUED]


def test_it_starts_past_a_run_that_waits_for_something_else(session: Session, owner: User) -> None:
    old = AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="Go on without me.")
    finish(claim(session.runs.latest("number")), Outcome.BLOCKED, asks=(draft(),))
    session.refresh_from_db()
    assert session.open_asks == 2

    verdict_on(old, owner)
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.CONTINUED, RunStatus.QUEUED]
    assert Ask.objects.filter(status=AskStatus.OPEN).count() == 1


def test_an_answer_while_a_later_run_is_under_way_starts_the_one_after(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="Go on without me.")
    turn = claim(session.runs.latest("number"))
    verdict_on(asked, owner, option="us")
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.RUNNING]
    finish(turn)
    assert runs_of(session) == [RunStatus.CONTINUED, RunStatus.COMPLETED, RunStatus.QUEUED]
    assert [given.body for given in claim(session.runs.latest("number")).given] == ["US ledger"]


@pytest.mark.case("C46")
def test_an_answer_does_not_wait_for_a_back_off(session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="Go on without me.")
    finish(claim(session.runs.latest("number")), Outcome.RETRYABLE_ERROR)
    session.refresh_from_db()
    assert session.wake_at is not None
    assert session.wake_at - session.moved_at == timedelta(seconds=30)

    verdict_on(asked, owner, option="us")
    turn = claim(session.runs.latest("number"))
    assert [given.body for given in turn.given] == ["Go on without me.", "US ledger"]


@pytest.mark.case("X15")
@pytest.mark.parametrize("how", ["agent", "session"])
def test_a_paused_answer_is_kept_until_resumed(session: Session, owner: User, how: str) -> None:
    asked = AskFactory(session=session)
    if how == "agent":
        controls.pause_agent(agent_id=session.agent_id, by=owner)
    else:
        Session.objects.filter(pk=session.pk).update(state=SessionState.PAUSED)
    verdict_on(asked, owner, option="us")
    session.refresh_from_db()
    assert session.status == Status.PAUSED
    assert runs_of(session) == [RunStatus.CONTINUED]
    assert owed_to(session) == ["US ledger"]

    if how == "agent":
        controls.resume_agent(agent_id=session.agent_id, by=owner)
    else:
        controls.resume_session(session_id=session.pk, by=owner)
    assert [given.body for given in claim(session.runs.latest("number")).given] == ["US ledger"]


@pytest.mark.case("aoa-41")
def test_a_verdict_is_owed_until_a_run_completes(session: Session, owner: User) -> None:
    verdict_on(AskFactory(session=session), owner, option="us")
    for outcome in (Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED):
        finish(claim(session.runs.latest("number")), outcome)
        assert owed_to(session) == ["US ledger"]
        controls.start_session(session_id=session.pk, by=owner)
    turn = claim(session.runs.latest("number"))
    assert [given.body for given in turn.given] == ["US ledger"]
    finish(turn, Outcome.NO_WORK)
    assert owed_to(session) == []
    assert begin(session).given == ()


@pytest.mark.case("C45")
def test_without_its_wake_there_is_no_verdict(
    session: Session, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends between the verdict and the wake: neither has been."""
    asked = AskFactory(session=session)

    def gone(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(closing, "continue_session", gone)
    with pytest.raises(KeyboardInterrupt):
        answer_ask(ask_id=asked.pk, by=owner, option="eu")
    monkeypatch.undo()
    assert not Verdict.objects.exists()
    assert runs_of(session) == [RunStatus.WAITING_HUMAN]
    assert isinstance(answer_ask(ask_id=asked.pk, by=owner, option="eu"), Answered)


@pytest.mark.case("C54")
def test_closing_one_ask_leaves_what_others_owe(session: Session, owner: User) -> None:
    first, second = ask(session, draft(), draft())
    verdict_on(first, owner, option="us")
    from asks.withdrawing import withdraw_ask

    withdraw_ask(ask_id=second.pk, by=owner)
    assert [given.body for given in claim(session.runs.latest("number")).given] == ["US ledger"]


def test_the_thread_says_who_answered_what(session: Session, owner: User) -> None:
    asked = AskFactory(session=session)
    verdict_on(asked, owner, option="us")
    event = session.events.get(kind="verdict")
    assert (event.actor, event.text, event.run_id) == ("human:olga", "US ledger", asked.run_id)
    assert event.data == {
        "ask_id": asked.pk,
        "request_key": ANY,
        "prompt": asked.prompt,
        "option": "us",
        "label": "US ledger",
        "text": "",
        "meaning": "answer",
    }


def test_an_earlier_turn_is_told_nothing_of_a_later_verdict(session: Session, owner: User) -> None:
    turn_of(session)
    verdict_on(AskFactory(session=session), owner)
    assert session.runs.get(number=1).given.count() == 0
