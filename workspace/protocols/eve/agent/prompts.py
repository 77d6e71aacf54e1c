"""What a turn tells the model: who it is, and what has come since its last turn."""

from __future__ import annotations

from collections.abc import Sequence

from agents.running.runtime import Given, Turn
from workspace.protocols.eve.agent import texts
from workspace.protocols.eve.agent.resolving import ResolutionState, Resolved
from workspace.toolkit import AgentDefinition

BEGIN = "Begin."


def instructions_prompt(definition: AgentDefinition, turn: Turn) -> str:
    """The definition's instructions, and what the owner has given the agent to do."""
    parts = [definition.instructions, turn.agent.mission, turn.agent.contract]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def given_prompt(turn: Turn, resolved: Sequence[Resolved]) -> list[str]:
    """What came with a turn, in words."""
    return [words for one in turn.given if (words := _told(one, resolved))]


def approvals_prompt(resolved: Sequence[Resolved]) -> list[str]:
    """What people said with their approvals, and what they changed."""
    return [words for one in resolved if (words := _with_approval(one))]


def _with_approval(one: Resolved) -> str:
    if one.state is not ResolutionState.APPROVED:
        return ""
    name, parts = one.parked.tool_name, []
    if one.params != one.parked.input:
        parts.append(texts.edited(name, one.params))
    if one.note:
        parts.append(texts.approved_with(name, one.note))
    return "\n".join(parts)


def _told(one: Given, resolved: Sequence[Resolved]) -> str:
    """Empty for a verdict on a parked call: the call's own result tells that."""
    if one.kind == "message":
        return one.body
    if one.kind != "verdict":
        return texts.mail(one.author, one.body)
    key = str(one.data.get("request_key", ""))
    waited_for = {found.parked.request_key for found in resolved}
    if key.partition("~")[0] in waited_for or (resolved and key.startswith("effect:")):
        return ""
    return texts.answered(str(one.data.get("prompt", "")), one.body)
