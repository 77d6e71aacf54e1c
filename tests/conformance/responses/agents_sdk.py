"""The OpenAI Agents SDK, whose runner calls every tool that a response names, against a server.

python agents_sdk.py BASE_URL KEY, in an environment that has openai-agents.
"""

# That environment is not the one that types are checked in: `agents` is the SDK there.
# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI

from agents import (
    Agent,
    FunctionTool,
    HostedMCPTool,
    ModelSettings,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)

REQUEST = {"mode": "run", "target_date": "2026-10-16", "dry_run": False}
CALLS: list[str] = []


def tool(name: str, output: str) -> FunctionTool:
    """A tool on the caller's machine that notes each call."""

    async def invoke(_: Any, arguments: str) -> str:
        CALLS.append(f"{name} {arguments}")
        return output

    schema = {"type": "object", "properties": {}}
    return FunctionTool(name, f"The caller's {name}.", schema, invoke, strict_json_schema=False)


def approving(request: Any) -> dict[str, Any]:
    CALLS.append(f"approve {request.data.name} {request.data.arguments}")
    return {"approve": True}


async def run(model: Any, scenario: str, *tools: Any, stream: bool = False) -> Any:
    """A whole run of the SDK's loop, which follows previous_response_id by itself."""
    CALLS.clear()
    # Its loop has no use for steps. With tools it need not say so.
    settings = ModelSettings(extra_query=None if tools else {"steps": "reasoning"})
    agent = Agent(
        name="caller",
        instructions="Be brief.",
        model=model,
        model_settings=settings,
        tools=list(tools),
    )
    request = json.dumps(REQUEST | {"scenario": scenario})
    if not stream:
        return await Runner.run(agent, request, auto_previous_response_id=True, max_turns=4)
    streamed = Runner.run_streamed(agent, request, auto_previous_response_id=True, max_turns=4)
    async for _ in streamed.stream_events():
        pass
    return streamed


async def a_plain_turn(model: Any) -> None:
    found = await run(model, "plain")
    assert "Nothing to decide" in found.final_output, found.final_output


async def a_tool_of_a_steps_name_is_not_called(model: Any) -> None:
    for stream in (False, True):
        found = await run(model, "plain", tool("load_ledger", "mine"), stream=stream)
        assert "Nothing to decide" in found.final_output
        assert CALLS == []
        assert len(found.raw_responses) == 1


async def a_question_is_answered(model: Any) -> None:
    mine = tool("load_ledger", "mine")
    found = await run(model, "ask", tool("request_info", "EU"), mine)
    assert "Reconciled EU" in found.final_output, found.final_output
    assert len(CALLS) == 1
    assert "Which ledger" in CALLS[0]


async def an_approval_is_given(model: Any) -> None:
    config = {
        "type": "mcp",
        "server_label": "needs-you",
        "server_url": "https://needs-you.invalid",
        "require_approval": "always",
    }
    hosted = HostedMCPTool(tool_config=config, on_approval_request=approving)
    found = await run(model, "approve", hosted, tool("load_ledger", "mine"))
    assert "Reconciled Approve" in found.final_output, found.final_output
    assert len(CALLS) == 1
    assert CALLS[0].startswith("approve pay ")


CHECKS: list[Callable[[Any], Awaitable[None]]] = [
    a_plain_turn,
    a_tool_of_a_steps_name_is_not_called,
    a_question_is_answered,
    an_approval_is_given,
]


async def main(base_url: str, key: str) -> None:
    set_tracing_disabled(disabled=True)
    async with AsyncOpenAI(base_url=base_url, api_key=key, timeout=60) as client:
        model = OpenAIResponsesModel("caller", client)
        for check in CHECKS:
            await check(model)
            print(f"ok   openai_agents_{check.__name__}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
