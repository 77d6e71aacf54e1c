"""The state machine in front of every turn, and the texts it seeds a turn with."""

from __future__ import annotations

import pytest

from tests.leaf.world import ITEM, UNGATED
from workspace.protocols.leaf import wire
from workspace.protocols.leaf.agent import texts
from workspace.protocols.leaf.agent.gates import (
    Aborted,
    GateRequest,
    Paused,
    Seed,
    may_submit,
    next_step,
    state_of,
)
from workspace.protocols.leaf.wire import GateDecision

FIRST, SECOND = GateRequest(0, "first", "do it"), GateRequest(1, "second", "do that")


def decision(gate_id: int, action: str, feedback: str | None = None) -> GateDecision:
    return wire.validate_decision(
        {"gateId": gate_id, "action": action} | ({"feedback": feedback} if feedback else {})
    )


@pytest.mark.case("leaf-G13")
def test_no_gates() -> None:
    state = state_of([], [])

    assert (state.pending, state.last_decision, state.next_gate_id) == (None, None, 0)


@pytest.mark.case("leaf-G14")
def test_an_undecided_gate_is_pending() -> None:
    state = state_of([FIRST], [])

    assert (state.pending, state.next_gate_id) == (FIRST, 1)


@pytest.mark.case("leaf-G15")
def test_a_decided_gate_is_not() -> None:
    state = state_of([FIRST], [decision(0, "approve")])

    assert state.pending is None
    assert state.last_decision == decision(0, "approve")


@pytest.mark.case("leaf-G16")
def test_the_gate_after_a_decided_one() -> None:
    state = state_of([FIRST, SECOND], [decision(0, "reject")])

    assert (state.pending, state.next_gate_id) == (SECOND, 2)


def test_a_gate_that_was_closed_without_a_decision_is_not_pending() -> None:
    assert state_of([GateRequest(0, "s", "p", over=True)], []).pending is None


@pytest.mark.case("leaf-G17")
def test_how_it_goes_on_after_an_approval() -> None:
    text = texts.continuation("approve", "but mind the tests")

    assert text.splitlines()[0] == "Human decision: APPROVED. but mind the tests"
    assert "submit_verdict" in text
    assert texts.continuation("approve", None).startswith("Human decision: APPROVED.\n")


@pytest.mark.case("leaf-G18", "leaf-X4")
def test_how_it_goes_on_after_a_rejection() -> None:
    text = texts.continuation("reject", "check the callers")

    assert text.splitlines()[0] == "Human decision: REJECTED. check the callers"
    assert "revise" in text.lower()
    assert "request_approval" in text
    assert "submit_verdict" not in text
    assert texts.continuation("reject", None).splitlines()[0].endswith("No feedback provided.")
    assert texts.continuation("reject", "").splitlines()[0] == "Human decision: REJECTED. "


@pytest.mark.case("leaf-G19")
def test_a_fresh_session_is_seeded_with_its_first_prompt() -> None:
    assert next_step(state_of([], []), None, "fresh") == Seed("fresh")


@pytest.mark.case("leaf-G20", "leaf-G21")
@pytest.mark.parametrize(("action", "word"), [("approve", "APPROVED"), ("reject", "REJECTED")])
def test_a_matching_decision_is_recorded_and_seeds_the_turn(action: str, word: str) -> None:
    said = decision(0, action, "mind this")

    step = next_step(state_of([FIRST], []), said, "fresh")

    assert isinstance(step, Seed)
    assert step.record == said
    assert word in step.prompt
    assert "mind this" in step.prompt


@pytest.mark.case("leaf-G22")
def test_a_matching_abort_ends_it_without_a_prompt() -> None:
    assert next_step(state_of([FIRST], []), decision(0, "abort"), "fresh") == Aborted(
        decision(0, "abort")
    )


@pytest.mark.case("leaf-G23")
def test_a_pending_gate_without_a_decision_stays_paused() -> None:
    assert next_step(state_of([FIRST], []), None, "fresh") == Paused(FIRST)


@pytest.mark.case("leaf-G24")
def test_a_decision_on_an_older_gate_stays_paused() -> None:
    state = state_of([FIRST, SECOND], [decision(0, "reject")])

    assert next_step(state, decision(0, "approve"), "fresh") == Paused(SECOND)


@pytest.mark.case("leaf-G25")
def test_the_same_decision_again_is_not_recorded_again() -> None:
    state = state_of([FIRST], [decision(0, "approve")])

    step = next_step(state, decision(0, "approve"), "fresh")

    assert isinstance(step, Seed)
    assert step.record is None
    assert "APPROVED" in step.prompt


@pytest.mark.case("leaf-G26")
def test_an_abort_is_for_good() -> None:
    state = state_of([FIRST], [decision(0, "abort")])

    assert next_step(state, decision(0, "approve"), "fresh") == Aborted()


@pytest.mark.case("leaf-X4")
@pytest.mark.parametrize(
    ("last", "gated", "withheld", "may"),
    [
        (None, False, False, True),
        (None, True, False, False),
        ("approve", True, False, True),
        ("reject", True, False, False),
        ("reject", False, False, False),
        ("approve", True, True, False),
        (None, False, True, False),
    ],
)
def test_only_an_approval_lets_an_agent_finish(
    last: str | None, *, gated: bool, withheld: bool, may: bool
) -> None:
    said = decision(0, last) if last else None

    assert may_submit(said, require_approval=gated, withheld=withheld) == may


@pytest.mark.case("leaf-L11", "leaf-L12", "leaf-L13", "leaf-L14")
def test_first_prompts() -> None:
    gated = texts.fresh_prompt(wire.validate_item(ITEM), "/workspace/")
    plain = texts.fresh_prompt(wire.validate_item(UNGATED), "")

    for prompt in (gated, plain):
        assert "a.py" in prompt
        assert "eval(" in prompt
    assert "/workspace/a.py" in gated
    assert "request_approval" in gated
    assert "submit_verdict" not in gated
    assert "submit_verdict" in plain
    assert "request_approval" not in plain
