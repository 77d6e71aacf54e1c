"""Agents of the small worlds that are defined in Python, and their scripted model.

The model executes its prompt: ``call NAME {input}`` and ``ask {question}``, several in one step if
joined with ``; ``. It echoes any other text, and repeats the results of its calls as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workspace.toolkit import AgentDefinition, Proposal, always, once, tool

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.models.function import AgentInfo

Move = tuple[str, dict[str, Any]]


@tool(needs_approval=always())
def refund(chargeId: str, amount: float) -> dict[str, Any]:  # noqa: N803 -- the name that its callers use
    """Refund a charge."""
    return {"refunded": chargeId, "amount": amount}


@tool(needs_approval=once())
def once_tool(n: int) -> dict[str, Any]:
    """Do something that needs approval once per session."""
    return {"done": n}


def _is_much(proposal: Proposal) -> bool:
    return float(proposal.tool_input["amount"]) > 1000


@tool(needs_approval=_is_much)
def pred_tool(amount: float) -> dict[str, Any]:
    """Do something that needs approval above 1000."""
    return {"paid": amount}


def scripted() -> Model:
    """Return a scripted model that needs no network."""
    from pydantic_ai.models.function import FunctionModel

    return FunctionModel(_think, model_name="scripted")


def _think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

    prompt, returned = _last(messages)
    moves = _moves(prompt)
    if moves:
        return ModelResponse(parts=[ToolCallPart(name, given) for name, given in moves])
    return ModelResponse(parts=[TextPart(_words(prompt, returned))])


def _last(messages: Sequence[ModelMessage]) -> tuple[str, list[Any]]:
    """Return the last prompt, and the results of calls since the last response."""
    prompt, returned = "", []
    for message in reversed(messages):
        if message.kind == "response":
            break
        for part in message.parts:
            if part.part_kind == "user-prompt" and isinstance(part.content, str):
                prompt = part.content
            elif part.part_kind in ("tool-return", "retry-prompt"):
                returned.append(part.content)
    return prompt, returned


def _words(prompt: str, returned: list[Any]) -> str:
    results = [one if isinstance(one, str) else json.dumps(one, default=str) for one in returned]
    return " ".join([*results, *([f"echo: {prompt}"] if prompt else [])]) or "echo: "


def _moves(prompt: str) -> list[Move]:
    """Parse the calls in a prompt. Return none unless every part of it is a call."""
    moves = [_move(part) for part in re.split(r"; (?=(?:call \w+|ask) \{)", prompt)]
    return [move for move in moves if move] if all(moves) else []


def _move(text: str) -> Move | None:
    verb, _, rest = text.strip().partition(" ")
    name, _, given = rest.partition(" ") if verb == "call" else ("ask_question", "", rest)
    try:
        arguments = json.loads(given)  # noqa: TID251  our own writing
    except ValueError:
        return None
    if verb not in ("call", "ask") or not isinstance(arguments, dict):
        return None
    if verb == "ask" and "question" in arguments:
        arguments["prompt"] = arguments.pop("question")
    return name, arguments


conformance = AgentDefinition(
    instructions="Execute the prompt.", tools=[refund, once_tool, pred_tool], model=scripted
)
