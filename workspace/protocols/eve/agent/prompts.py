"""Build the prompts of a turn: the instructions, and the input since the last turn."""

from __future__ import annotations

from collections.abc import Sequence

from agents.running.runtime import Given, Turn
from workspace.protocols.eve.agent import texts
from workspace.protocols.eve.agent.resolving import ResolutionState, Resolved
from workspace.toolkit import AgentDefinition

BEGIN = "Begin."


def instructions_prompt(definition: AgentDefinition, turn: Turn) -> str:
    """Return the definition's instructions followed by the agent's mission and contract."""
    parts = [definition.instructions, turn.agent.mission, turn.agent.contract]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def given_prompt(turn: Turn, resolved: Sequence[Resolved]) -> list[str]:
    """Return the inbox items of a turn as text, one string per item."""
    return [text for item in turn.given if (text := _item_text(item, resolved))]


def approvals_prompt(resolved: Sequence[Resolved]) -> list[str]:
    """Return the notes that came with approvals, and the inputs that people changed."""
    return [text for call in resolved if (text := _with_approval(call))]


def _with_approval(one: Resolved) -> str:
    if one.state is not ResolutionState.APPROVED:
        return ""
    name, parts = one.parked.tool_name, []
    if one.params != one.parked.input:
        parts.append(texts.edited(name, one.params))
    if one.note:
        parts.append(texts.approved_with(name, one.note))
    return "\n".join(parts)


def _item_text(item: Given, resolved: Sequence[Resolved]) -> str:
    """Return "" for a verdict on a parked call: the result of the call reports it."""
    if item.kind == "message":
        return item.body
    if item.kind != "verdict":
        return texts.mail(item.author, item.body)
    key = str(item.data.get("request_key", ""))
    parked_keys = {call.parked.request_key for call in resolved}
    if key.partition("~")[0] in parked_keys or (resolved and key.startswith("effect:")):
        return ""
    return texts.answered(str(item.data.get("prompt", "")), item.body)
