"""Inputs are checked before anything happens: what is wrong goes back to the model and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from pydantic_ai.messages import ToolCallPart

from tests.eve.runtime.world import Brain, approve, call, noted, open_asks, say, session_for

pytestmark = pytest.mark.django_db
GOOD: dict[str, Any] = {"charge_id": "ch_1", "amount": 12.5}


@pytest.mark.case("C10", "eve-types")
@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({**GOOD, "amount": "12.5"}, "amount"),
        ({**GOOD, "amount": True}, "amount"),
        ({**GOOD, "amount": None}, "amount"),
        ({**GOOD, "charge_id": 1}, "charge_id"),
        ({**GOOD, "currency": "GBP"}, "currency"),
        ({**GOOD, "note": "x"}, "note"),
        ({"amount": 1}, "charge_id"),
        ({}, "charge_id"),
    ],
)
def test_input_of_the_wrong_type_never_reaches_an_ask(
    owner: User, effects: list[Any], given: dict[str, Any], names: str
) -> None:
    brain = Brain([call("refund", "c1", **given)])
    session = session_for(owner, brain)
    say(session, owner)
    assert not session.asks.exists()
    assert effects == []
    assert names in str(brain.told()["c1"])
    assert noted(session, "actions.requested") == []
    assert brain.calls == 2


@pytest.mark.parametrize("amount", [float("nan"), float("inf")])
def test_numbers_that_nothing_can_be_bound_to_are_not_asked_about(
    owner: User, effects: list[Any], amount: float
) -> None:
    brain = Brain([call("refund", "c1", charge_id="ch_1", amount=amount)])
    session = session_for(owner, brain)
    say(session, owner)
    assert not session.asks.exists()
    assert effects == []
    assert brain.calls == 2


@pytest.mark.case("eve-rebind")
@pytest.mark.parametrize("amount", [1e21, 2.0**60, 0.1 + 0.2, 5])
def test_a_number_runs_as_it_was_bound(owner: User, effects: list[Any], amount: float) -> None:
    session = session_for(owner, Brain([call("refund", charge_id="ch_1", amount=amount)]))
    say(session, owner)
    approve(open_asks(session)[0], owner)
    assert effects == [("refund", "ch_1", amount, "EUR")]
    assert isinstance(effects[0][2], float)


@pytest.mark.parametrize("text", ["{not json", "[1]", '"x"', ""])
def test_arguments_that_are_no_object_go_back_to_the_model(
    owner: User, effects: list[Any], text: str
) -> None:
    brain = Brain([ToolCallPart("refund", text, tool_call_id="c1")])
    session = session_for(owner, brain)
    say(session, owner)
    assert not session.asks.exists()
    assert effects == []
    assert brain.calls == 2


def test_a_tool_that_is_not_there_goes_back_to_the_model(owner: User) -> None:
    brain = Brain([call("rm_rf", "c1", path="/")])
    session = session_for(owner, brain)
    say(session, owner)
    assert not session.asks.exists()
    assert brain.calls == 2


def test_a_wrong_call_beside_a_right_one_is_told_and_the_right_one_waits(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("refund", "bad", charge_id=1), call("refund", "good", **GOOD)])
    session = session_for(owner, brain)
    say(session, owner)
    (asked,) = open_asks(session)
    approve(asked, owner)
    assert [done[1] for done in effects] == ["ch_1"]
    assert "charge_id" in str(brain.told()["bad"])


def test_what_is_too_large_to_be_shown_is_not_asked(owner: User, effects: list[Any]) -> None:
    brain = Brain([call("refund", "c1", charge_id="x" * 70_000, amount=1.0)])
    session = session_for(owner, brain)
    say(session, owner)
    assert not session.asks.exists()
    assert "cannot be asked" in str(brain.told()["c1"])
    assert effects == []


def test_defaults_are_shown_and_bound(owner: User) -> None:
    session = session_for(owner, Brain([call("refund", **GOOD)]))
    say(session, owner)
    assert open_asks(session)[0].gate.params == {**GOOD, "currency": "EUR"}


def test_the_ask_carries_the_schema_of_its_tool(owner: User) -> None:
    session = session_for(owner, Brain([call("refund", **GOOD)]))
    say(session, owner)
    schema = open_asks(session)[0].gate.schema
    assert schema is not None
    assert schema["properties"]["amount"]["type"] == "number"
    assert schema["required"] == ["charge_id", "amount"]
    assert schema["additionalProperties"] is False
