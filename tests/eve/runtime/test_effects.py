"""An approved call is done once: whatever breaks around it, it is told about or asked about instead."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents import claims, controls, settlement
from agents.lifecycle import Outcome, RunStatus
from agents.models import Run, Session
from agents.running.runtime import Turn
from asks.actions import grants
from asks.actions.interrupted import ask_about_interrupted
from asks.answering import answer_ask
from asks.deadlines.expiry import expire_due_asks
from asks.models import Ask, Effect, EffectEnd, Redemption
from asks.policies.versions import add_version
from asks.refusals import Refused
from tests.eve.runtime.world import (
    Brain,
    approve,
    call,
    carry_all,
    in_this_thread,
    noted,
    open_asks,
    say,
    session_for,
)
from tests.factories import echo_of, verdict_on
from tests.leaf import world as leaf
from workspace.protocols.eve.agent import texts
from workspace.protocols.eve.agent.runtime import EveRuntime

pytestmark = pytest.mark.django_db
REFUND = {"charge_id": "ch_1", "amount": 12.5, "currency": "EUR"}
DONE = ("refund", "ch_1", 12.5, "EUR")


def parked(owner: User, *more: Any, name: str = "refund", **given: Any) -> tuple[Session, Brain]:
    brain = Brain([call(name, "c1", **(given or REFUND))], *more)
    session = session_for(owner, brain)
    say(session, owner)
    return session, brain


def claim_and_lose() -> Turn:
    """The run that carries the approval is claimed, and its worker is never heard of again."""
    turn = leaf.claimed()
    assert turn is not None
    return turn


def lapse() -> None:
    Run.objects.filter(status=RunStatus.RUNNING).update(
        lease_until=timezone.now().replace(year=2000)
    )


def carry_again(session: Session) -> Any:
    """Another worker takes the run over and carries it to its end."""
    lapse()
    run = session.runs.get(status=RunStatus.RUNNING)
    turn = claims.claim_run(run_id=run.pk, worker="another")
    assert turn is not None
    ended: Any = leaf.play(turn, EveRuntime(read=in_this_thread, once=in_this_thread))[-1]
    assert settlement.settle_run(turn.fence, ended)
    return ended


@pytest.mark.case("eve-result-lost")
def test_a_model_that_fails_after_the_call_is_told_what_it_came_to(
    owner: User, effects: list[Any]
) -> None:
    session, brain = parked(owner, [ConnectionError("the model is away")])
    ended = approve(open_asks(session)[0], owner)
    assert [one.outcome for one in ended] == [Outcome.RETRYABLE_ERROR]
    assert effects == [DONE]
    controls.start_session(session_id=session.pk, by=owner)
    assert [one.outcome for one in carry_all()] == [Outcome.WORK_DONE]
    assert effects == [DONE]
    assert brain.told() == {"c1": {"refunded": "ch_1", "amount": 12.5}}
    assert [one["status"] for one in noted(session, "action.result")] == ["completed"] * 2
    assert noted(session, "step.failed")[0]["code"] == "ConnectionError"


@pytest.mark.case("eve-result-lost")
def test_a_worker_lost_after_the_call_was_written_down_does_not_repeat_it(
    owner: User, effects: list[Any]
) -> None:
    session, brain = parked(owner)
    verdict_on(open_asks(session)[0], owner, option="approve")
    turn = claim_and_lose()
    leaf.play(turn, EveRuntime(read=in_this_thread, once=in_this_thread))
    assert effects == [DONE]
    assert carry_again(session).outcome == Outcome.WORK_DONE
    assert effects == [DONE]
    assert brain.told() == {"c1": {"refunded": "ch_1", "amount": 12.5}}


def test_a_worker_lost_in_the_middle_has_the_owner_look_and_never_runs_it_again(
    owner: User, effects: list[Any]
) -> None:
    session, brain = parked(owner)
    verdict_on(open_asks(session)[0], owner, option="approve")
    turn = claim_and_lose()
    assert grants.begin_effect(
        session_id=session.pk, operation="refund", params=REFUND, fence=turn.fence
    )
    ended = carry_again(session)
    assert (ended.outcome, ended.asks) == (Outcome.BLOCKED, ())
    (asked,) = open_asks(session)
    assert "may or may not have happened" in asked.prompt
    assert asked.context == {"operation": "refund", "params": REFUND}
    assert session.runs.latest("number").status == RunStatus.WAITING_HUMAN
    assert brain.calls == 1
    verdict_on(asked, owner, option="happened", text="I saw it at the bank.")
    carry_all()
    assert effects == []
    assert '"It happened — I saw it at the bank."' in str(brain.told()["c1"])
    assert Effect.objects.get().end == EffectEnd.UNKNOWN
    assert Redemption.objects.count() == 1


def test_what_is_said_while_the_owner_looks_is_told_afterwards(
    owner: User, effects: list[Any]
) -> None:
    session, brain = parked(owner)
    verdict_on(open_asks(session)[0], owner, option="approve")
    turn = claim_and_lose()
    grants.begin_effect(session_id=session.pk, operation="refund", params=REFUND, fence=turn.fence)
    carry_again(session)
    say(session, owner, "Hurry.")
    (asked,) = open_asks(session)
    assert brain.calls == 1
    verdict_on(asked, owner, option="did-not-happen")
    carry_all()
    assert effects == []
    assert brain.heard()[-1] == "Hurry."


def test_a_tool_that_says_it_did_nothing_has_failed(owner: User) -> None:
    session, brain = parked(owner, name="refuses", n=7)
    approve(open_asks(session)[0], owner)
    assert brain.told() == {"c1": "There is no charge 7."}
    effect = Effect.objects.get()
    assert (effect.end, effect.detail) == (EffectEnd.FAILED, "There is no charge 7.")
    assert noted(session, "action.result")[0]["status"] == "failed"
    ask_about_interrupted()
    assert open_asks(session) == []


def test_a_tool_that_breaks_leaves_open_what_happened_and_the_owner_is_asked(
    owner: User, effects: list[Any]
) -> None:
    session, brain = parked(owner, name="breaks", n=7)
    approve(open_asks(session)[0], owner)
    assert str(brain.told()["c1"]).startswith(texts.BROKE)
    ask_about_interrupted()
    (asked,) = open_asks(session)
    verdict_on(asked, owner, option="did-not-happen")
    carry_all()
    assert "and answered" in brain.heard()[-1]
    assert "It did not happen" in brain.heard()[-1]
    assert effects == [("breaks", 7)]


def test_a_tool_that_takes_too_long_leaves_open_what_happened(
    owner: User, effects: list[Any]
) -> None:
    session, brain = parked(owner, name="hangs", n=7)
    approve(open_asks(session)[0], owner)
    assert "timed out" in str(brain.told()["c1"])
    assert effects == [("hangs", 7)]
    ask_about_interrupted()
    assert "may or may not have happened" in open_asks(session)[0].prompt


def test_a_free_tool_that_fails_tells_its_model(owner: User) -> None:
    brain = Brain([call("fails", "c1", n=3)])
    session = session_for(owner, brain)
    assert [one.outcome for one in say(session, owner)] == [Outcome.WORK_DONE]
    assert brain.told() == {"c1": "ValueError: no 3"}
    assert noted(session, "action.result")[0]["status"] == "failed"


@pytest.mark.case("C12", "eve-rebind")
def test_an_edited_call_is_what_runs_and_the_model_hears_of_it(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("refund", "c1", **REFUND)])
    session = session_for(owner, brain)
    rules = {"rules": [{"operation": "refund", "approval": "always", "may_edit": True}]}
    add_version(agent_id=session.agent_id, rules=rules, why="For the test", by=owner)
    say(session, owner)
    edited = {**REFUND, "amount": 5.25}
    verdict_on(open_asks(session)[0], owner, option="approve", edited=edited)
    carry_all()
    assert effects == [("refund", "ch_1", 5.25, "EUR")]
    assert "changed its input" in brain.heard()[-1]


def test_what_went_stale_is_asked_anew_and_runs_once(owner: User, effects: list[Any]) -> None:
    session, _ = parked(owner)
    (asked,) = open_asks(session)
    echo = echo_of(asked)
    rules = {"rules": [{"operation": "refund", "approval": "always"}]}
    add_version(agent_id=session.agent_id, rules=rules, why="For the test", by=owner)
    stale = answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=echo)
    assert isinstance(stale, Refused)
    carry_all()
    (fresh,) = open_asks(session)
    assert fresh.context == asked.context
    approve(fresh, owner)
    assert effects == [DONE]


@pytest.mark.case("eve-expired")
def test_what_expired_is_not_run_and_the_model_is_told(owner: User, effects: list[Any]) -> None:
    session, brain = parked(owner)
    (asked,) = open_asks(session)
    Ask.objects.filter(pk=asked.pk).update(expires_at=timezone.now().replace(year=2000))
    expire_due_asks()
    say(session, owner, "Go on.")
    controls.resume_session(session_id=session.pk, by=owner)
    carry_all()
    assert effects == []
    assert brain.told()["c1"] == texts.EXPIRED
