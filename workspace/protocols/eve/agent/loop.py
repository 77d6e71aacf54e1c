"""Drive one turn of the model and its tools with pydantic-ai, to a final text or to parked calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, UsageLimits
from pydantic_ai.agent import AgentRun, ModelRequestNode
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    repair_messages,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import Tool as ModelTool
from pydantic_ai.tools import ToolDenied
from pydantic_core import SchemaValidator, core_schema

from agents.text.storable import make_storable
from workspace import toolkit
from workspace.protocols.eve.agent import prompts, questions
from workspace.protocols.eve.agent.calls import Calls
from workspace.protocols.eve.agent.parking import Parked
from workspace.protocols.eve.agent.reporter import Reporter
from workspace.protocols.eve.agent.resolving import ResolutionState, Resolved

RETRIES = 3
"""How often a model may retry a tool call with invalid input."""
FINISHED = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "error": "error",
}


@dataclass(frozen=True, kw_only=True)
class ModelTurn:
    """The input of a turn.

    ``history``: earlier messages as JSON. ``resolved``: the calls that the last turn parked on.
    """

    definition: toolkit.AgentDefinition
    model: Model
    instructions: str
    prompt: str | None
    history: Sequence[Any]
    resolved: Sequence[Resolved]
    calls: Calls
    reporter: Reporter
    max_steps: int


@dataclass(frozen=True)
class Thought:
    """The result of a turn: text, or parked calls. ``messages`` are the new ones, as JSON."""

    words: str
    parked: tuple[Parked, ...]
    messages: list[Any]
    usage: dict[str, int]


async def think(job: ModelTurn) -> Thought:
    """Take the turn. Raises the model's exceptions and pydantic-ai's own."""
    history, results = _history(job)
    job.reporter.begin_step()
    async with _agent(job.definition).iter(
        job.prompt or (None if history else prompts.BEGIN),
        model=job.model,
        deps=job.calls,
        message_history=history or None,
        deferred_tool_results=results,
        usage_limits=UsageLimits(request_limit=job.max_steps),
        instructions=job.instructions or None,
    ) as run:
        await _follow(run, job.reporter, streams=_streams(job.model))
    if run.result is None:
        raise RuntimeError("the model's turn has no end")
    return _thought(run, job.calls)


def _history(job: ModelTurn) -> tuple[list[ModelMessage], DeferredToolResults | None]:
    """Return the conversation so far and the results that it waits for.

    If its last response did not propose these calls, the conversation is repaired without results,
    and none of the calls is run.
    """
    history = ModelMessagesTypeAdapter.validate_python(list(job.history))
    spoken = next((one for one in reversed(history) if isinstance(one, ModelResponse)), None)
    proposed = {call.tool_call_id for call in spoken.tool_calls} if spoken else set()
    if job.resolved and {one.parked.call_id for one in job.resolved} <= proposed:
        return history, _results(job.resolved)
    return repair_messages(history), None


async def _follow(run: AgentRun[Calls, Any], reporter: Reporter, *, streams: bool) -> None:
    """Drive the turn from node to node and report the steps."""
    answered: ModelResponse | None = None
    async for node in run:
        if answered is not None:
            reporter.end_step(_reason(answered), _used(answered))
            answered = None
        if Agent.is_model_request_node(node):
            reporter.begin_step()
            if streams:
                await _listen(node, run, reporter)
        elif Agent.is_call_tools_node(node) and node.tool_call_results is None:
            answered = node.model_response
            _report_response(answered, reporter, was_streamed=streams)
    if answered is not None:
        reporter.end_step(_reason(answered), _used(answered))


def _streams(model: Model) -> bool:
    """Return whether a model can stream its text. A scripted one may not."""
    return not isinstance(model, FunctionModel) or model.stream_function is not None


async def _listen(
    node: ModelRequestNode[Calls, Any], run: AgentRun[Calls, Any], reporter: Reporter
) -> None:
    async with node.stream(run.ctx) as pieces:
        async for event in pieces:
            if event.event_kind == "part_start" and event.part.part_kind == "text":
                reporter.says(event.part.content)
            elif event.event_kind == "part_delta" and event.delta.part_delta_kind == "text":
                reporter.says(event.delta.content_delta)


def _report_response(response: ModelResponse, reporter: Reporter, *, was_streamed: bool) -> None:
    for part in response.parts:
        if part.part_kind == "thinking":
            reporter.thinks(part.content)
        elif part.part_kind == "text" and not was_streamed:
            reporter.says(part.content)
    reporter.completed(_reason(response))


def _reason(response: ModelResponse) -> str:
    if response.tool_calls:
        return "tool-calls"
    return FINISHED.get(response.finish_reason or "stop", "other")


def _used(response: ModelResponse) -> dict[str, int]:
    usage = response.usage
    return {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}


def _thought(run: AgentRun[Calls, Any], calls: Calls) -> Thought:
    assert run.result is not None  # noqa: S101 -- think() has checked it; this narrows the type
    output, usage = run.result.output, run.usage
    asked = [*output.approvals, *output.calls] if isinstance(output, DeferredToolRequests) else []
    messages = ModelMessagesTypeAdapter.dump_python(run.result.new_messages(), mode="json")
    return Thought(
        words="" if isinstance(output, DeferredToolRequests) else output,
        parked=tuple(calls.parked[call.tool_call_id] for call in asked),
        messages=cast("list[Any]", make_storable(messages)),
        usage={
            "requests": usage.requests,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        },
    )


def _results(resolved: Sequence[Resolved]) -> DeferredToolResults | None:
    """Return the results of the parked calls for the model. ``Calls`` runs the approved ones."""
    if not resolved:
        return None
    results = DeferredToolResults()
    for one in resolved:
        call_id = one.parked.call_id
        if one.state is ResolutionState.ANSWERED:
            results.calls[call_id] = one.answer
        elif one.parked.kind == "question":
            results.calls[call_id] = {"status": "ignored"}
        elif one.state in (ResolutionState.APPROVED, ResolutionState.ENDED):
            results.approvals[call_id] = True
        else:
            results.approvals[call_id] = ToolDenied(one.words)
    return results


#: Accepts any JSON object, which the tool then checks; anything else goes straight back to the model.
_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_made: dict[int, tuple[toolkit.AgentDefinition, Agent[Calls, Any]]] = {}


def _agent(definition: toolkit.AgentDefinition) -> Agent[Calls, Any]:
    """Return pydantic-ai's agent for a definition, created once per definition."""
    cached = _made.get(id(definition))
    if cached is None or cached[0] is not definition:
        cached = _made[id(definition)] = (definition, _make(definition))
    return cached[1]


def _make(definition: toolkit.AgentDefinition) -> Agent[Calls, Any]:
    tools = [_tool(one) for one in definition.tools]
    ask = ModelTool.from_schema(
        _asking, questions.NAME, questions.DESCRIPTION, questions.question_schema(), takes_ctx=True
    )
    ask.function_schema.validator = _OBJECT
    return Agent(
        deps_type=Calls,
        output_type=[str, DeferredToolRequests],
        tools=[*tools, ask],
        retries=RETRIES,
    )


def _tool(tool: toolkit.Tool) -> ModelTool[Calls]:
    """Wrap a tool for pydantic-ai. Calls run in sequence, so results are reported in call order."""
    made = ModelTool.from_schema(
        _calling(tool), tool.name, tool.description, tool.schema, takes_ctx=True, sequential=True
    )
    made.function_schema.validator = _OBJECT
    return made


def _calling(tool: toolkit.Tool) -> Callable[..., Awaitable[Any]]:
    async def call(ctx: RunContext[Calls], **given: Any) -> Any:
        return await ctx.deps.call(
            tool, ctx.tool_call_id or "", given, approved=ctx.tool_call_approved
        )

    return call


async def _asking(ctx: RunContext[Calls], **given: Any) -> Any:
    return await ctx.deps.ask(ctx.tool_call_id or "", given)
