"""One turn of the model and its tools, by pydantic-ai: it ends with words, or with what it waits for."""

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
"""How often a model may try again to call a tool rightly."""
FINISHED = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "error": "error",
}


@dataclass(frozen=True, kw_only=True)
class ModelTurn:
    """What a turn is given: ``history`` as JSON, and what became of the calls it parked on."""

    definition: toolkit.AgentDefinition
    model: Model
    instructions: str
    prompt: str | None
    history: Sequence[Any]
    resolved: Sequence[Resolved]
    calls: Calls
    telling: Reporter
    max_steps: int


@dataclass(frozen=True)
class Thought:
    """What a turn came to: words, or parked calls. ``messages`` are new ones, as JSON."""

    words: str
    parked: tuple[Parked, ...]
    messages: list[Any]
    usage: dict[str, int]


async def think(job: ModelTurn) -> Thought:
    """Take the turn. Raises whatever the model does, and pydantic-ai's own exceptions."""
    history, results = _gone_on(job)
    job.telling.begin_step()
    async with _agent(job.definition).iter(
        job.prompt or (None if history else prompts.BEGIN),
        model=job.model,
        deps=job.calls,
        message_history=history or None,
        deferred_tool_results=results,
        usage_limits=UsageLimits(request_limit=job.max_steps),
        instructions=job.instructions or None,
    ) as run:
        await _follow(run, job.telling, streams=_streams(job.model))
    if run.result is None:
        raise RuntimeError("the model's turn has no end")
    return _thought(run, job.calls)


def _gone_on(job: ModelTurn) -> tuple[list[ModelMessage], DeferredToolResults | None]:
    """The conversation so far, and the results that it waits for.

    One that does not wait for exactly these calls is closed as it is: nothing is run for it.
    """
    history = ModelMessagesTypeAdapter.validate_python(list(job.history))
    spoken = next((one for one in reversed(history) if isinstance(one, ModelResponse)), None)
    proposed = {call.tool_call_id for call in spoken.tool_calls} if spoken else set()
    if job.resolved and {one.parked.call_id for one in job.resolved} <= proposed:
        return history, _results(job.resolved)
    return repair_messages(history), None


async def _follow(run: AgentRun[Calls, Any], telling: Reporter, *, streams: bool) -> None:
    """Drive the turn from node to node, telling what happens between them."""
    answered: ModelResponse | None = None
    async for node in run:
        if answered is not None:
            telling.end_step(_reason(answered), _used(answered))
            answered = None
        if Agent.is_model_request_node(node):
            telling.begin_step()
            if streams:
                await _listen(node, run, telling)
        elif Agent.is_call_tools_node(node) and node.tool_call_results is None:
            answered = node.model_response
            _tell_response(answered, telling, was_heard=streams)
    if answered is not None:
        telling.end_step(_reason(answered), _used(answered))


def _streams(model: Model) -> bool:
    """Whether a model can be heard while it speaks. A scripted one need not."""
    return not isinstance(model, FunctionModel) or model.stream_function is not None


async def _listen(
    node: ModelRequestNode[Calls, Any], run: AgentRun[Calls, Any], telling: Reporter
) -> None:
    async with node.stream(run.ctx) as pieces:
        async for event in pieces:
            if event.event_kind == "part_start" and event.part.part_kind == "text":
                telling.says(event.part.content)
            elif event.event_kind == "part_delta" and event.delta.part_delta_kind == "text":
                telling.says(event.delta.content_delta)


def _tell_response(response: ModelResponse, telling: Reporter, *, was_heard: bool) -> None:
    for part in response.parts:
        if part.part_kind == "thinking":
            telling.thinks(part.content)
        elif part.part_kind == "text" and not was_heard:
            telling.says(part.content)
    telling.completed(_reason(response))


def _reason(response: ModelResponse) -> str:
    if response.tool_calls:
        return "tool-calls"
    return FINISHED.get(response.finish_reason or "stop", "other")


def _used(response: ModelResponse) -> dict[str, int]:
    usage = response.usage
    return {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}


def _thought(run: AgentRun[Calls, Any], calls: Calls) -> Thought:
    assert run.result is not None  # noqa: S101 -- think has seen to it; this tells the type
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
    """What became of the parked calls, for the model. An approved one is run by ``Calls``."""
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


#: What is inside is checked by the tool itself; what is no object goes back to the model at once.
_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_made: dict[int, tuple[toolkit.AgentDefinition, Agent[Calls, Any]]] = {}


def _agent(definition: toolkit.AgentDefinition) -> Agent[Calls, Any]:
    """pydantic-ai's agent of a definition, made once."""
    found = _made.get(id(definition))
    if found is None or found[0] is not definition:
        found = _made[id(definition)] = (definition, _make(definition))
    return found[1]


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
    """One after the other, so that what a step did is told in the order it was called in."""
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
