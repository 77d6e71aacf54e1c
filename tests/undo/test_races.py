"""Two connections at the edge of a window: one of both happens, and the other says what did."""

from __future__ import annotations

from functools import partial

import pytest
from django.contrib.auth.models import User

from agents import claims, controls
from agents.jobs import tick
from agents.lifecycle import RunStatus
from agents.models import Session
from asks.answering import answer_ask
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import Ask, Retraction
from asks.refusals import Refused
from asks.undo.retracting import Retracted, StartedNow, retract_verdict, start_now
from tests.factories import AskFactory
from tests.races.racing import pass_by, race
from tests.state_machine.promises import check_all
from tests.undo.world import pass_window, press

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def test_two_tabs_take_back_at_once(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    verb = partial(retract_verdict, verdict_id=verdict.pk, by=owner)
    raced = race(verb, verb)
    assert isinstance(raced.first, Retracted)
    assert isinstance(raced.second, Retracted)
    assert (raced.first.repeated, raced.second.repeated) == (False, True)
    assert Retraction.objects.count() == 1
    verify.verify_ledger()
    check_all()


def test_start_now_before_take_back(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    raced = race(
        partial(start_now, verdict_id=verdict.pk, by=owner),
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
    )
    assert isinstance(raced.first, StartedNow)
    assert isinstance(raced.second, Refused)
    assert raced.second.detail == "It already started."
    assert asked.session.runs.filter(status=RunStatus.QUEUED).count() == 1
    check_all()


def test_take_back_before_start_now(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    raced = race(
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
        partial(start_now, verdict_id=verdict.pk, by=owner),
    )
    assert isinstance(raced.first, Retracted)
    assert isinstance(raced.second, Refused)
    assert asked.session.runs.count() == 1
    check_all()


def test_a_colleagues_start_before_take_back(asked: Ask, owner: User, colleague: User) -> None:
    verdict = press(asked, owner)
    raced = race(
        partial(controls.start_session, session_id=asked.session_id, by=colleague),
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
    )
    assert raced.first is not None
    assert isinstance(raced.second, Refused)
    check_all()


def test_a_worker_claims_while_it_is_taken_back(asked: Ask, owner: User) -> None:
    """The run was queued by a Start: the claim that comes first wins, and it has the answer."""
    verdict = press(asked, owner)
    run = controls.start_session(session_id=asked.session_id, by=owner)
    assert run is not None
    raced = race(
        partial(claims.claim_run, run_id=run.pk, worker="w"),
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
    )
    assert raced.first is not None
    assert [item.data["ask_id"] for item in raced.first.given] == [asked.pk]
    assert isinstance(raced.second, Refused)


def test_the_sweep_passes_by_a_session_that_somebody_takes_back(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    raced = pass_by(
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
        partial(tick.start_if_due, asked.session_id),
    )
    assert isinstance(raced.first, Retracted)
    assert raced.second is False
    tick.run_tick()
    assert asked.session.runs.count() == 1
    check_all()


def test_the_sweep_comes_first(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner)
    pass_window(asked.session)
    raced = race(
        partial(tick.start_if_due, asked.session_id),
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
    )
    assert raced.first is True
    assert isinstance(raced.second, Refused)
    assert raced.second.detail == "It already started."
    check_all()


def test_two_workers_end_a_window_once(asked: Ask, owner: User) -> None:
    press(asked, owner)
    pass_window(asked.session)
    verb = partial(tick.start_if_due, asked.session_id)
    raced = pass_by(verb, verb)
    assert (raced.first, raced.second) == (True, False)
    assert asked.session.inbox.count() == 1
    check_all()


def test_an_answer_that_waited_for_a_retraction_finds_the_question_open(
    asked: Ask, owner: User, colleague: User
) -> None:
    verdict = press(asked, owner)
    race(
        partial(retract_verdict, verdict_id=verdict.pk, by=owner),
        partial(answer_ask, ask_id=asked.pk, by=colleague, option="us"),
    )
    asked.refresh_from_db()
    assert (asked.status, asked.decision.decided_by) == (AskStatus.ANSWERED, colleague)
    verify.verify_ledger()
    check_all()
