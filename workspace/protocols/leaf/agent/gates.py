"""The state machine in front of every turn: what a session's gates and decisions call for.

Pure, over what the log of a session holds. The door asks it before it starts anything, the runtime
before it calls a model, so both say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workspace.protocols.leaf.agent import texts
from workspace.protocols.leaf.wire import ABORT, APPROVE, GateDecision


@dataclass(frozen=True)
class GateRequest:
    """A gate: what was done, and what comes next if a person agrees. ``over`` without a decision
    means that it was taken back, expired, or asked anew."""

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
    """Drive the agent with this prompt; ``record`` is the decision that it carries for the first time."""

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
    """What to do now. ``fresh`` is the prompt of a session that was never decided about."""
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
    """Whether the agent is given ``submit_verdict`` at all.

    After a decision only an approval lets it finish, whatever the item says. ``withheld`` means that
    it asked for a gate which was then closed without a decision.
    """
    if withheld:
        return False
    if last is not None:
        return last.action == APPROVE
    return not require_approval
