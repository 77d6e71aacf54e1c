"""The state machine of a session: derive the next step from its gates and decisions.

The functions are pure and read only the log of the session. The server calls them before it starts
a run, and the runtime before it calls a model, so both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workspace.protocols.leaf.agent import texts
from workspace.protocols.leaf.wire import ABORT, APPROVE, GateDecision


@dataclass(frozen=True)
class GateRequest:
    """A gate: what the agent did, and what it will do if a person approves.

    ``over`` without a decision: the gate was withdrawn, expired, or asked again.
    """

    gate_id: int
    summary: str
    proposed_action: str
    over: bool = False


@dataclass(frozen=True)
class GateState:
    pending: GateRequest | None
    last_decision: GateDecision | None
    next_gate_id: int


@dataclass(frozen=True)
class Seed:
    """Run the agent with this prompt. ``record`` is the decision that it delivers for the first time."""

    prompt: str
    record: GateDecision | None = None


@dataclass(frozen=True)
class Paused:
    gate: GateRequest


@dataclass(frozen=True)
class Aborted:
    record: GateDecision | None = None


Step = Seed | Paused | Aborted


def state_of(requests: Sequence[GateRequest], decisions: Sequence[GateDecision]) -> GateState:
    decided = {decision.gate_id for decision in decisions}
    waiting = [one for one in requests if one.gate_id not in decided and not one.over]
    return GateState(
        pending=waiting[-1] if waiting else None,
        last_decision=decisions[-1] if decisions else None,
        next_gate_id=len(requests),
    )


def next_step(state: GateState, decision: GateDecision | None, fresh: str) -> Step:
    """Return the next step. ``fresh`` is the prompt of a session without any decision."""
    if state.pending is not None:
        if decision is None or decision.gate_id != state.pending.gate_id:
            return Paused(state.pending)
        if decision.action == ABORT:
            return Aborted(decision)
        return Seed(texts.continuation(decision.action, decision.feedback), decision)
    last = state.last_decision
    if last is None:
        return Seed(fresh)
    if last.action == ABORT:
        return Aborted()
    return Seed(texts.continuation(last.action, last.feedback))


def may_submit(
    last: GateDecision | None, *, require_approval: bool, withheld: bool = False
) -> bool:
    """Return whether the agent is offered ``submit_verdict``.

    After a decision only an approval allows it, whatever the item says. ``withheld``: the agent
    requested a gate that was closed without a decision.
    """
    if withheld:
        return False
    if last is not None:
        return last.action == APPROVE
    return not require_approval
