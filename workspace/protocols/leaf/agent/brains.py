"""The models of a leaf agent: any that pydantic-ai knows, and a scripted one without a network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workspace.protocols.common import model_registry
from workspace.protocols.common.model_registry import NoSuchModel, register_model

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.models.function import AgentInfo

__all__ = ["SCRIPTED", "NoSuchModel", "chosen", "model_named", "register_model", "scripted"]

SCRIPTED = "scripted"


def model_named(name: str) -> Model:
    """Return the model of that name. Raises NoSuchModel, which no retry can fix."""
    if name.startswith(f"{SCRIPTED}:"):
        return scripted(_seconds(name.partition(":")[2]))
    return model_registry.model_named(name)


def chosen(own: str, others: dict[str, str], asked: str) -> str:
    """Return the model that the session asks for if the agent offers it, else the agent's own."""
    return others.get(asked, own)


def scripted(seconds: float = 0) -> Model:
    """Return a model that requests required gates, asks again if rejected, and flags ``eval(``.

    ``seconds`` is its delay before each response, written ``scripted:2.5`` in a model name.
    """
    from pydantic_ai.models.function import FunctionModel

    async def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(seconds)
        return _play(messages, info)

    return FunctionModel(think, model_name=SCRIPTED)


def _seconds(text: str) -> float:
    try:
        return min(max(float(text), 0), 3600)
    except ValueError as error:
        raise NoSuchModel(f"“{text}” is not a number of seconds to think for.") from error


register_model(SCRIPTED, scripted)


def _play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    from pydantic_ai.messages import ModelResponse, ToolCallPart

    prompts = _prompts(messages)
    name, arguments = _move(prompts, {tool.name for tool in info.output_tools})
    return ModelResponse(parts=[ToolCallPart(name, arguments)])


def _move(prompts: Sequence[str], tools: set[str]) -> tuple[str, dict[str, Any]]:
    item, pattern, last = _after("Item id: ", prompts), _after("Pattern of interest: ", prompts), ""
    verdict = "FLAGGED" if pattern == "eval(" else "CLEAR"
    last = prompts[-1]
    if "submit_verdict" in tools:
        reason = f"The pattern {pattern} is {'there' if verdict == 'FLAGGED' else 'not there'}."
        return "submit_verdict", {"item_id": item, "verdict": verdict, "reason": reason}
    summary = f"I looked for `{pattern}` in {_after('File ', prompts).rpartition(': ')[2]}."
    if last.startswith("Human decision: REJECTED. "):
        feedback = last.splitlines()[0].removeprefix("Human decision: REJECTED. ")
        summary = f"{summary} Revised after the rejection: {feedback}"
    elif last.startswith("A message from the owner"):
        summary = f"{summary} With your message in mind: {last.partition(chr(10))[2]}"
    return "request_approval", {
        "summary": summary,
        "proposed_action": f"Submit the verdict {verdict} for {item}.",
    }


def _prompts(messages: Sequence[ModelMessage]) -> list[str]:
    return [
        part.content
        for message in messages
        for part in message.parts
        if part.part_kind == "user-prompt" and isinstance(part.content, str)
    ]


def _after(label: str, prompts: Sequence[str]) -> str:
    match = re.search(rf"^{re.escape(label)}(.*)$", prompts[0], re.MULTILINE)
    return match[1] if match else ""
