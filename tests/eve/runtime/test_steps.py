"""Several calls in one step: what may run runs at once and once, the rest parks once and resumes once."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from pydantic_ai.messages import TextPart

from agents.lifecycle import Outcome, RunStatus
from asks.models import Ask
from tests.eve.runtime.world import (
    Brain,
    approve,
    call,
    carry_all,
    decide,
    deny,
    noted,
    open_asks,
    question,
    say,
    session_for,
    types,
)
from tests.factories import verdict_on

pytestmark = pytest.mark.django_db


def refund(charge: str, call_id: str) -> Any:
    return call("refund", call_id, charge_id=charge, amount=1.0)


@pytest.mark.case("eve-free-once")
def test_what_needs_no_approval_runs_before_the_park_and_not_again(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain(
        [TextPart("Let me see."), call("look_up", "f1", charge_id="ch_1"), refund("ch_1", "g1")]
    )
    session = session_for(owner, brain)
    say(session, owner)
    assert effects == [("look_up", "ch_1")]
    assert types(session) == [
        "step.started",
        "message.appended",
        "message.completed",
        "actions.requested",
        "action.result",
        "step.completed",
    ]
    (requested,) = noted(session, "actions.requested")
    assert [one["callId"] for one in requested["actions"]] == ["f1"]
    approve(open_asks(session)[0], owner)
    assert effects == [("look_up", "ch_1"), ("refund", "ch_1", 1.0, "EUR")]
    assert brain.told() == {
        "f1": {"charge": "ch_1", "agent": "billing", "approved": False},
        "g1": {"refunded": "ch_1", "amount": 1.0},
    }


@pytest.mark.case("C58")
def test_calls_and_questions_of_a_step_park_once_and_resume_once(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([refund("ch_1", "g1"), question(call_id="q1"), refund("ch_2", "g2")])
    session = session_for(owner, brain)
    assert len(say(session, owner)) == 1
    asks = open_asks(session)
    assert [one.context["eve"]["callId"] for one in asks] == ["g1", "g2", "q1"]
    for number, one in enumerate(asks):
        assert session.runs.get().status == RunStatus.WAITING_HUMAN
        assert effects == []
        ended = decide(one, owner, "approve") if number < 2 else _answer(one, owner, "EU")
        assert bool(ended) == (number == 2)
    assert effects == [("refund", "ch_1", 1.0, "EUR"), ("refund", "ch_2", 1.0, "EUR")]
    assert brain.calls == 2
    assert brain.told()["q1"] == {"status": "answered", "text": "EU"}


def _answer(asked: Ask, by: User, text: str) -> list[Any]:
    verdict_on(asked, by, text=text)
    return carry_all()


@pytest.mark.case("C59")
def test_one_of_three_denied_leaves_the_other_two_as_decided(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([refund("ch_1", "g1"), refund("ch_2", "g2"), refund("ch_3", "g3")])
    session = session_for(owner, brain)
    say(session, owner)
    one, two, three = open_asks(session)
    approve(one, owner)
    deny(two, owner)
    approve(three, owner)
    assert [done[1] for done in effects] == ["ch_1", "ch_3"]
    assert brain.told()["g2"] == "Tool execution was denied."


@pytest.mark.case("C57")
def test_answers_belong_to_their_calls_in_whatever_order_they_come(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([refund("ch_1", "g1"), refund("ch_2", "g2")])
    session = session_for(owner, brain)
    say(session, owner)
    one, two = open_asks(session)
    deny(two, owner)
    approve(one, owner)
    assert [done[1] for done in effects] == ["ch_1"]
    assert brain.told()["g1"] == {"refunded": "ch_1", "amount": 1.0}


def test_two_calls_that_are_alike_run_as_often_as_they_were_approved(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([refund("ch_1", "g1"), refund("ch_1", "g2")])
    session = session_for(owner, brain)
    say(session, owner)
    one, two = open_asks(session)
    approve(one, owner)
    deny(two, owner)
    assert effects == [("refund", "ch_1", 1.0, "EUR")]


def test_an_agent_may_park_again_and_again_in_one_go(owner: User, effects: list[Any]) -> None:
    brain = Brain([refund("ch_1", "g1")], [refund("ch_2", "g2")])
    session = session_for(owner, brain)
    say(session, owner)
    ended = approve(open_asks(session)[0], owner)
    assert [one.outcome for one in ended] == [Outcome.BLOCKED]
    approve(open_asks(session)[0], owner)
    assert [done[1] for done in effects] == ["ch_1", "ch_2"]
    assert brain.calls == 3


@pytest.mark.case("eve-call-ids")
def test_call_ids_that_a_model_uses_again_are_other_calls(owner: User, effects: list[Any]) -> None:
    brain = Brain(
        [question(call_id="same")],
        [TextPart("Thanks.")],
        [question(call_id="same")],
        [refund("ch_1", "same")],
        [refund("ch_2", "same")],
    )
    session = session_for(owner, brain)
    say(session, owner)
    _answer(open_asks(session)[0], owner, "EU")
    say(session, owner)
    _answer(open_asks(session)[0], owner, "US")
    assert brain.told()["same"] == {"status": "answered", "text": "US"}
    approve(open_asks(session)[0], owner)
    approve(open_asks(session)[0], owner)
    assert [done[1] for done in effects] == ["ch_1", "ch_2"]


def test_a_step_in_which_two_calls_have_one_id_is_not_taken(
    owner: User, effects: list[Any]
) -> None:
    session = session_for(owner, Brain([refund("ch_1", "same"), refund("ch_2", "same")]))
    (ended,) = say(session, owner)
    assert ended.outcome == Outcome.RETRYABLE_ERROR
    assert open_asks(session) == []
    assert effects == []
