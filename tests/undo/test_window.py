"""A press is durable at once, starts nothing for a while, and can be taken back meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from procrastinate.contrib.django.models import ProcrastinateJob

from agents import claims
from agents.jobs import queue, tick
from agents.lifecycle import RunStatus, Status
from agents.models import Run, Session
from asks.answering import Answered, answer_ask
from asks.ledger import verify
from asks.lifecycle import AskStatus, Reason
from asks.models import (
    Ask,
    LedgerRecord,
    Retraction,
    UndoWindow,
    Verdict,
)
from asks.refusals import Refused
from asks.undo.retracting import Retracted, StartedNow, retract_verdict, start_now
from tests.factories import (
    AskFactory,
    claim,
    verdict_on,
)
from tests.state_machine.promises import check_all
from tests.undo.world import WINDOW, pass_window, press, take_back, wait_out
from workspace.models import OutboxItem

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def run_of(asked: Ask) -> Run:
    return Run.objects.get(pk=asked.run_id)


def outside(asked: Ask) -> list[str]:
    return list(OutboxItem.objects.filter(subject=f"ask:{asked.pk}").values_list("kind", flat=True))


def test_a_press_is_recorded_at_once_and_starts_nothing(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    asked.refresh_from_db()
    session = asked.session
    session.refresh_from_db()
    assert (asked.status, asked.verdict, asked.closed_by) == (AskStatus.ANSWERED, verdict, owner)
    assert LedgerRecord.objects.filter(kind="verdict").count() == 1
    assert (run_of(asked).status, session.runs.count()) == (RunStatus.WAITING_HUMAN, 1)
    assert not session.inbox.exists()
    assert session.status == Status.SCHEDULED
    assert session.held_until == UndoWindow.objects.get().until == verdict.decided_at + WINDOW
    assert not session.events.filter(kind="verdict").exists()
    assert outside(asked) == ["ask.opened"]
    tick.run_tick()
    assert session.runs.count() == 1
    verify.verify_ledger()
    check_all()


def test_the_job_is_scheduled_for_the_end_of_the_window(asked: Ask, owner: User) -> None:
    press(asked, owner)
    job = ProcrastinateJob.objects.get(task_name=queue.START)
    assert job.args == {"session_id": asked.session_id}
    assert job.scheduled_at == UndoWindow.objects.get().until


def test_at_its_end_the_answer_takes_effect_as_without_a_window(asked: Ask, owner: User) -> None:
    press(asked, owner)
    session = asked.session
    wait_out(session)
    assert [run.status for run in session.runs.order_by("number")] == [
        RunStatus.CONTINUED,
        RunStatus.QUEUED,
    ]
    assert session.held_until is None
    (item,) = claim(session.runs.get(status=RunStatus.QUEUED)).given
    assert item.data["option"] == "eu"
    assert outside(asked) == ["ask.opened", "ask.answered"]
    check_all()
    verify.verify_ledger()


def test_the_end_comes_once(asked: Ask, owner: User) -> None:
    press(asked, owner)
    pass_window(asked.session)
    for _ in range(3):
        tick.run_tick()
        tick.start_if_due(asked.session_id)
    assert asked.session.runs.count() == 2
    assert asked.session.inbox.count() == 1


def test_what_is_taken_back_was_never_there_for_the_agent(asked: Ask, owner: User) -> None:
    before = Session.objects.get(pk=asked.session_id)
    verdict = press(asked, owner, "eu", text="And hurry.")
    reopened = take_back(verdict, owner)
    session = Session.objects.get(pk=asked.session_id)
    assert (reopened.status, reopened.verdict, reopened.closed_at) == (AskStatus.OPEN, None, None)
    assert (reopened.card_version, reopened.retracted) == (asked.card_version + 1, 1)
    same = ("status", "wake_at", "wake_cause", "open_asks", "run_count", "held_until")
    assert [getattr(session, name) for name in same] == [getattr(before, name) for name in same]
    assert run_of(asked).status == RunStatus.WAITING_HUMAN
    assert not session.inbox.exists()
    wait_out(session)
    assert session.runs.count() == 1
    assert outside(asked) == ["ask.opened"]
    assert Verdict.objects.get().text == "And hurry."
    assert Retraction.objects.get().by == owner
    event = session.events.get(kind="retracted")
    assert (event.actor, event.data["label"]) == ("human:olga", "EU ledger")
    verify.verify_ledger()
    check_all()


def test_the_reopened_question_is_answered_like_any_other(
    asked: Ask, owner: User, colleague: User
) -> None:
    take_back(press(asked, owner), owner)
    second = press(asked, colleague, "us")
    assert second.round == 1
    session = asked.session
    wait_out(session)
    (item,) = claim(session.runs.get(status=RunStatus.QUEUED)).given
    assert (item.author, item.data["option"]) == ("human:carl", "us")
    history = claims.HISTORY_KINDS
    assert session.events.filter(kind="verdict").count() == 1
    assert not {"pressed", "retracted"} & set(history)
    verify.verify_ledger()
    check_all()


def test_it_can_be_taken_back_again_and_again(asked: Ask, owner: User) -> None:
    for round_ in range(3):
        assert press(asked, owner).round == round_
        take_back(Verdict.objects.latest("pk"), owner)
    assert Ask.objects.get(pk=asked.pk).retracted == 3
    verdict_on(asked, owner)
    verify.verify_ledger()
    check_all()


def test_a_repeated_press_is_the_same_answer_and_another_one_is_refused(
    asked: Ask, owner: User
) -> None:
    verdict = press(asked, owner)
    again = answer_ask(ask_id=asked.pk, by=owner, option="eu", undo=WINDOW)
    assert isinstance(again, Answered)
    assert (again.repeated, again.verdict) == (True, verdict)
    other = answer_ask(ask_id=asked.pk, by=owner, option="us", undo=WINDOW)
    assert isinstance(other, Refused)
    assert other.reason == Reason.CLOSED


def test_two_tabs_take_back_once(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    take_back(verdict, owner)
    again = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(again, Retracted)
    assert again.repeated
    assert Retraction.objects.count() == 1
    press(asked, owner, "us")
    late = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(late, Retracted)
    assert Ask.objects.get(pk=asked.pk).status == AskStatus.ANSWERED


def test_only_who_pressed_takes_back(
    asked: Ask, owner: User, colleague: User, stranger: User
) -> None:
    verdict = press(asked, owner)
    for verb in (retract_verdict, start_now):
        theirs = verb(verdict_id=verdict.pk, by=colleague)
        assert isinstance(theirs, Refused)
        assert (theirs.reason, theirs.detail) == (Reason.NOT_ALLOWED, "Only olga can do this.")
        strange = verb(verdict_id=verdict.pk, by=stranger)
        assert isinstance(strange, Refused)
        assert strange.reason == Reason.NOT_FOUND
    nothing = retract_verdict(verdict_id=verdict.pk + 1, by=owner)
    assert isinstance(nothing, Refused)
    verify.verify_ledger()


@pytest.mark.parametrize("started", [True, False])
def test_after_the_window_it_says_why_not(asked: Ask, owner: User, started: bool) -> None:
    verdict = press(asked, owner)
    pass_window(asked.session)
    if started:
        tick.run_tick()
    late = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(late, Refused)
    text = "It already started." if started else "The time to take it back is over."
    assert (late.reason, late.detail) == (Reason.CLOSED, text)
    assert not Retraction.objects.exists()
    verify.verify_ledger()


def test_start_now_ends_the_wait(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    result = start_now(verdict_id=verdict.pk, by=owner)
    assert isinstance(result, StartedNow)
    assert asked.session.runs.count() == 2
    again = start_now(verdict_id=verdict.pk, by=owner)
    assert isinstance(again, StartedNow)
    assert again.repeated
    late = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(late, Refused)
    assert late.detail == "It already started."
    check_all()


def test_what_was_taken_back_is_not_started(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    take_back(verdict, owner)
    result = start_now(verdict_id=verdict.pk, by=owner)
    assert isinstance(result, Refused)
    assert result.detail == "You took this answer back."


def test_an_answer_without_a_window_cannot_be_taken_back(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner, undo=timedelta(0))
    assert asked.session.runs.count() == 2
    assert not UndoWindow.objects.exists()
    assert not asked.session.events.filter(kind="pressed").exists()
    result = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(result, Refused)
    assert result.detail == "It already started."
