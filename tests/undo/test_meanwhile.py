"""What else happens while an answer can be taken back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from agents import claims, controls, messages
from agents.jobs import tick
from agents.lifecycle import InboxKind, Outcome, RunStatus, Status
from agents.models import Agent, Session
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import (
    Ask,
    UndoWindow,
)
from asks.refusals import Refused
from asks.retirement import retire_agent
from asks.undo.retracting import retract_verdict, start_now
from tests.factories import (
    AskFactory,
    ask,
    claim,
    draft,
    finish,
    home_of,
    verdict_on,
)
from tests.state_machine.promises import check_all
from tests.undo.world import press, take_back, wait_out

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def test_a_message_waits_for_the_window_and_comes_with_the_answer(
    asked: Ask, owner: User, colleague: User
) -> None:
    press(asked, owner)
    session = asked.session
    assert messages.post_message(session_id=session.pk, by=colleague, text="Mind the VAT.") is None
    tick.run_tick()
    assert session.runs.count() == 1
    wait_out(session)
    given = claim(session.runs.get(status=RunStatus.QUEUED)).given
    assert sorted(item.kind for item in given) == [InboxKind.MESSAGE, InboxKind.VERDICT]
    check_all()


def test_without_the_answer_a_message_starts_the_session_at_once(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    session = asked.session
    messages.post_message(session_id=session.pk, by=owner, text="Wait, something else.")
    take_back(verdict, owner)
    given = claim(session.runs.get(status=RunStatus.QUEUED)).given
    assert [item.kind for item in given] == [InboxKind.MESSAGE]
    check_all()


def test_start_on_the_page_of_the_session_ends_every_window(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    session = asked.session
    run = controls.start_session(session_id=session.pk, by=owner)
    assert run is not None
    assert [item.kind for item in claim(run).given] == [InboxKind.VERDICT]
    late = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(late, Refused)
    check_all()


def test_a_run_queued_before_the_press_is_claimed_after_the_window(asked: Ask, owner: User) -> None:
    session = asked.session
    run = messages.post_message(session_id=session.pk, by=owner, text="First.")
    assert run is not None
    verdict = press(asked, owner)
    assert claims.claim_run(run_id=run.pk, worker="w") is None
    take_back(verdict, owner)
    assert [item.kind for item in claim(run).given] == [InboxKind.MESSAGE]


def test_a_running_run_goes_on_without_the_answer(asked: Ask, owner: User) -> None:
    session = asked.session
    run = messages.post_message(session_id=session.pk, by=owner, text="First.")
    assert run is not None
    turn = claim(run)
    press(asked, owner)
    finish(turn, Outcome.BLOCKED, asks=(draft("other"),))
    session.refresh_from_db()
    assert session.runs.count() == 2
    wait_out(session)
    (item,) = claim(session.runs.get(status=RunStatus.QUEUED)).given
    assert item.kind == InboxKind.VERDICT
    check_all()


def test_a_schedule_waits_for_the_window(agent: Agent, owner: User) -> None:
    session = home_of(agent)
    asked = AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="First.")
    finish(claim(session.runs.get(status=RunStatus.QUEUED)))
    Session.objects.filter(pk=session.pk).update(wake_at=Now(), wake_cause="schedule")
    verdict = press(asked, owner)
    tick.run_tick()
    assert not session.runs.filter(status=RunStatus.QUEUED).exists()
    take_back(verdict, owner)
    assert session.runs.get(status=RunStatus.QUEUED).cause == "schedule"


def test_two_answers_of_one_run(session: Session, owner: User, colleague: User) -> None:
    first, second = ask(session, draft("a"), draft("b"))
    press(first, owner, undo=timedelta(seconds=10))
    other = press(second, colleague, undo=timedelta(seconds=20))
    session.refresh_from_db()
    assert session.held_until == UndoWindow.objects.get(verdict=other).until
    take_back(other, colleague)
    wait_out(session)
    assert session.status == Status.WAITING_HUMAN
    assert session.runs.count() == 1
    check_all()
    verdict_on(second, owner)
    given = claim(session.runs.get(status=RunStatus.QUEUED)).given
    assert [item.data["ask_id"] for item in given] == [first.pk, second.pk]
    check_all()


def test_two_answers_start_one_run_when_the_last_window_ends(session: Session, owner: User) -> None:
    first, second = ask(session, draft("a"), draft("b"))
    one, _two = press(first, owner), press(second, owner)
    start_now(verdict_id=one.pk, by=owner)
    assert session.runs.count() == 1
    assert session.inbox.count() == 0
    late = retract_verdict(verdict_id=one.pk, by=owner)
    assert isinstance(late, Refused)
    wait_out(session)
    assert len(claim(session.runs.get(status=RunStatus.QUEUED)).given) == 2
    check_all()


def test_an_answer_by_a_key_does_not_start_what_another_holds(
    session: Session, owner: User, colleague: User
) -> None:
    first, second = ask(session, draft("a"), draft("b"))
    verdict = press(first, owner)
    verdict_on(second, colleague, option="us", via="api")
    assert session.runs.count() == 1
    take_back(verdict, owner)
    assert session.runs.count() == 1
    verdict_on(first, colleague)
    assert len(claim(session.runs.get(status=RunStatus.QUEUED)).given) == 2


def test_the_same_request_is_not_answered_early(asked: Ask, owner: User) -> None:
    """A run asks the same again while the answer can be taken back."""
    session = asked.session
    turn = claim(messages.post_message(session_id=session.pk, by=owner, text="Go."))  # type: ignore[arg-type]
    verdict = press(asked, owner)
    same = draft(asked.request_key)
    finish(turn, Outcome.BLOCKED, asks=(same,))
    assert not session.inbox.filter(kind=InboxKind.VERDICT).exists()
    take_back(verdict, owner)
    assert session.asks.get().status == AskStatus.OPEN
    check_all()


def test_what_was_asked_again_meanwhile_replaces_what_was_taken_back(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session)
    turn = claim(messages.post_message(session_id=session.pk, by=owner, text="Go."))  # type: ignore[arg-type]
    verdict = press(asked, owner)
    finish(turn, Outcome.BLOCKED, asks=(draft(asked.request_key, "Which one, then?"),))
    take_back(verdict, owner)
    first, second = session.asks.order_by("pk")
    assert (first.status, first.superseded_by) == (AskStatus.SUPERSEDED, second)
    assert second.status == AskStatus.OPEN
    verify.verify_ledger()
    check_all()


def test_a_paused_session_keeps_the_answer(asked: Ask, owner: User) -> None:
    session = asked.session
    press(asked, owner)
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    wait_out(session)
    assert session.runs.count() == 1
    assert session.inbox.count() == 1
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    assert session.runs.filter(status=RunStatus.QUEUED).count() == 1
    check_all()


def test_a_retired_agent_takes_nothing_back(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    retire_agent(agent_id=asked.session.agent_id, by=owner)
    late = retract_verdict(verdict_id=verdict.pk, by=owner)
    assert isinstance(late, Refused)
    wait_out(asked.session)
    assert not asked.session.runs.filter(status=RunStatus.QUEUED).exists()
    verify.verify_ledger()
    check_all()
