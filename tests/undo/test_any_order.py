"""Presses with windows, retractions and everything else in any order: the promises hold after each step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from agents import claims
from agents.db.expressions import database_now
from agents.jobs import tick
from agents.lifecycle import InboxKind, Outcome, RunStatus
from agents.models import InboxItem, Run, Session
from asks.answering import Answered, answer_ask
from asks.deadlines.expiry import expire_due_asks
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import Ask, Grant, UndoWindow, Verdict
from asks.refusals import Refused
from asks.undo.retracting import Retracted, StartedNow, retract_verdict, start_now
from asks.withdrawing import withdraw_ask
from tests.factories import echo_of
from tests.state_machine.test_anything_goes import (
    OUTCOMES,
    PAST,
    PICK,
    QUESTIONS,
    RECIPIENTS,
    Workspace,
    asks,
    one_of,
    runs,
    there_are,
)
from tests.undo.world import WINDOW, pass_window


def open_windows() -> QuerySet[UndoWindow]:
    return UndoWindow.objects.filter(delivered_at=None, verdict__retraction=None)


def ended_windows() -> QuerySet[UndoWindow]:
    return UndoWindow.objects.exclude(delivered_at=None)


def is_held(session_id: int) -> bool:
    return Session.objects.filter(pk=session_id, held_until__gt=database_now()).exists()


class WorkspaceWithWindows(Workspace):
    """The same workspace, whose owner's presses have windows."""

    def claim_run(self, run: Run) -> None:
        if is_held(run.session_id):
            assert claims.claim_run(run_id=run.pk, worker="early") is None
        else:
            super().claim_run(run)

    @there_are(lambda: runs(RunStatus.QUEUED, RunStatus.RUNNING))
    @rule(pick=PICK, outcome=OUTCOMES, keys=QUESTIONS, to=RECIPIENTS)
    def take_a_turn(self, pick: int, outcome: Outcome, keys: list[str], to: str) -> None:
        for run in runs(RunStatus.QUEUED):
            self.claim_run(run)
        if runs(RunStatus.RUNNING).exists():
            self.settle(pick, outcome, keys, to)

    @there_are(lambda: runs(RunStatus.RUNNING))
    @rule(pick=PICK, given_back=st.booleans())
    def lose_a_claim(self, pick: int, given_back: bool) -> None:
        run = one_of(runs(RunStatus.RUNNING), pick)
        super().lose_a_claim(pick, given_back or is_held(run.session_id))

    @there_are(lambda: asks(AskStatus.OPEN))
    @rule(pick=PICK, first=st.booleans(), windowed=st.sampled_from([True, True, False]))
    def press(self, pick: int, first: bool, windowed: bool) -> None:
        asked = one_of(asks(AskStatus.OPEN), pick)
        keys = list(asked.options.order_by("position").values_list("key", flat=True))
        press: dict[str, Any] = {
            "option": keys[0 if first else -1],
            "echo": echo_of(asked) if hasattr(asked, "gate") else None,
            "undo": WINDOW if windowed else timedelta(0),
        }
        result = answer_ask(ask_id=asked.pk, by=self.owner, **press)
        again = answer_ask(ask_id=asked.pk, by=self.owner, **press)
        if isinstance(result, Answered):
            assert isinstance(again, Answered)
            assert again.repeated

    @there_are(open_windows)
    @rule(pick=PICK)
    def take_back(self, pick: int) -> None:
        window = one_of(open_windows(), pick)
        result = retract_verdict(verdict_id=window.verdict_id, by=self.owner)
        assert isinstance(result, Retracted | Refused)
        if isinstance(result, Retracted):
            again = retract_verdict(verdict_id=window.verdict_id, by=self.owner)
            assert isinstance(again, Retracted)
            assert again.repeated
            ask = Ask.objects.get(pk=window.verdict.ask_id)
            assert ask.status in (AskStatus.OPEN, AskStatus.SUPERSEDED)
        else:
            assert window.until <= database_now()

    @there_are(ended_windows)
    @rule(pick=PICK)
    def take_back_too_late(self, pick: int) -> None:
        window = one_of(ended_windows(), pick)
        assert isinstance(retract_verdict(verdict_id=window.verdict_id, by=self.owner), Refused)

    @there_are(open_windows)
    @rule(pick=PICK)
    def start_at_once(self, pick: int) -> None:
        window = one_of(open_windows(), pick)
        assert isinstance(start_now(verdict_id=window.verdict_id, by=self.owner), StartedNow)

    @there_are(open_windows)
    @rule(pick=PICK)
    def a_window_passes(self, pick: int) -> None:
        session = one_of(open_windows(), pick).session
        pass_window(session)
        tick.run_tick()
        assert Session.objects.get(pk=session.pk).held_until is None

    @there_are(lambda: asks(AskStatus.OPEN))
    @rule(pick=PICK, by_time=st.booleans())
    def close_without_an_answer(self, pick: int, by_time: bool) -> None:
        asked = one_of(asks(AskStatus.OPEN), pick)
        if by_time:
            Ask.objects.filter(pk=asked.pk).update(expires_at=database_now() - PAST)
            assert expire_due_asks() == 1
        else:
            assert isinstance(withdraw_ask(ask_id=asked.pk, by=self.owner), Ask)
        assert not Verdict.objects.filter(ask=asked, retraction=None).exists()

    @invariant()
    def the_agent_never_hears_of_what_was_taken_back(self) -> None:
        unanswered = Ask.objects.exclude(status=AskStatus.ANSWERED)
        silent = list(unanswered.values_list("pk", flat=True))
        silent += open_windows().values_list("verdict__ask", flat=True)
        items = InboxItem.objects.filter(kind=InboxKind.VERDICT)
        assert not items.filter(data__ask_id__in=silent).exists()
        assert not Grant.objects.filter(ask__in=silent).exists()

    def teardown(self) -> None:
        try:
            self.let_everything_end()
            verify.verify_ledger()
        finally:
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)


@pytest.mark.django_db
def test_anything_in_any_order_with_windows() -> None:
    run_state_machine_as_test(
        WorkspaceWithWindows,
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
