"""Take one turn of a leaf agent: prompt the model, run its tools, and return the result.

Both protocol tools end the turn. No tool called with or after ``request_approval`` is run, and a
verdict in the same response is rejected: the gate comes first.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from agents.running.runtime import Said, Step, Usage
from agents.text.storable import is_blank, is_storable, make_storable
from workspace.protocols.common import model_registry
from workspace.protocols.leaf.agent import brains, texts
from workspace.protocols.leaf.server.volume import Outside, UnreadableItem, Volume

if TYPE_CHECKING:
    from pydantic_ai import Agent, RunContext, ToolOutput
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.usage import RunUsage

LONGEST_REQUEST = 16_000
RETRIES = 3
"""How often an agent may retry a tool call with invalid input."""


@dataclass(frozen=True)
class Asked:
    """The agent called ``request_approval``: the turn is over and the session waits for a person."""

    summary: str
    proposed_action: str


@dataclass(frozen=True)
class Submitted:
    """The agent called ``submit_verdict``: {item_id, verdict, reason}."""

    verdict: dict[str, str]


@dataclass(frozen=True)
class Failed:
    """The turn ended without a result and a retry would not help: no_verdict or invalid_verdict."""

    reason: Literal["no_verdict", "invalid_verdict"]
    message: str


@dataclass(frozen=True)
class Broke:
    """The model call failed. ``limited``: a quota is used up. ``for_good``: the settings are wrong."""

    message: str
    limited: bool = False
    for_good: bool = False


@dataclass(frozen=True)
class Reviewed:
    """The result of a turn, and the whole conversation as JSON for the next one."""

    result: Asked | Submitted | Failed | Broke
    messages: list[Any] | None = None


Told = Said | Step | Usage | Reviewed


@dataclass(frozen=True, kw_only=True)
class Review:
    """The input of a turn. ``files`` is the volume that the agent may read, if any."""

    item_id: str
    prompt: str
    model: str
    may_submit: bool
    turns: int
    seconds: float
    messages: Sequence[Any] = ()
    files: Volume | None = None
    call_prefix: str = ""


@dataclass
class _Turn:
    tried: list[str] = field(default_factory=list)


async def review_item(job: Review) -> AsyncGenerator[Told, None]:
    """Take the turn: yield its events, then its result. Failures of the model are results too."""
    turn = _Turn()
    try:
        async with aclosing(_converse(job, turn)) as events:
            async for event in events:
                yield event
    except TimeoutError:
        yield Reviewed(Broke(f"The turn was stopped after {job.seconds:g} seconds."))
    except Exception as error:  # noqa: BLE001 -- classified by whether a retry can help
        yield Reviewed(_classify(error, job, turn))


async def _converse(job: Review, turn: _Turn) -> AsyncGenerator[Told, None]:
    from pydantic_ai import UsageLimits
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    agent = _agent(may_submit=job.may_submit, reads=job.files is not None)
    model = brains.model_named(job.model)
    history = ModelMessagesTypeAdapter.validate_python(list(job.messages)) or None
    limits = UsageLimits(request_limit=job.turns)
    pending: list[Said | Step] = []
    async with agent.iter(
        job.prompt,
        model=model,
        deps=job,
        message_history=history,
        usage_limits=limits,
        timeout=job.seconds,
    ) as run:
        async for node in run:
            for event in pending:
                yield event
            pending = []
            if agent.is_call_tools_node(node):
                turn.tried += [call.tool_name for call in node.model_response.tool_calls]
                pending = _events_in(node.model_response, job.call_prefix)
    for event in pending:  # held until now, so that they are written together with the usage
        yield event
    if run.result is None:
        raise RuntimeError("the model's turn has no end")
    yield Usage(_used(run.usage))
    result, messages = run.result.output, run.result.all_messages()
    if isinstance(result, str):
        result = Failed("no_verdict", "The agent ended its turn without a verdict.")
    yield Reviewed(
        result,
        make_storable(
            ModelMessagesTypeAdapter.dump_python(_with_protocol_results(messages), mode="json")
        ),
    )


@lru_cache(maxsize=4)
def _agent(*, may_submit: bool, reads: bool) -> Agent[Review, Any]:
    """Return pydantic-ai's agent for a kind of turn. Everything else is in the turn's ``Review``."""
    from pydantic_ai import Agent, RunContext, Tool

    # pydantic-ai resolves annotations at run time, when RunContext is not in this module's globals.
    for tool in (_submit_verdict, _read):
        tool.__annotations__["ctx"] = RunContext[Review]
    return Agent(
        name="leaf",
        deps_type=Review,
        output_type=[*_ends(may_submit=may_submit), str],
        tools=[Tool(_read, name="read")] if reads else [],
        end_strategy="early",
        retries=RETRIES,
    )


def _ends(*, may_submit: bool) -> list[ToolOutput[Any]]:
    """Return the tools that end a turn; ``submit_verdict`` only if it is allowed.

    They are coroutine functions: pydantic-ai would run a plain function in a thread.
    """
    from pydantic_ai import ToolOutput

    verdict = ToolOutput[Submitted](
        _submit_verdict, name="submit_verdict", description=texts.SUBMIT_VERDICT
    )
    request = ToolOutput[Asked](
        _request_approval, name="request_approval", description=texts.REQUEST_APPROVAL
    )
    return [verdict, request] if may_submit else [request]


async def _submit_verdict(
    ctx: RunContext[Review], item_id: str, verdict: Literal["FLAGGED", "CLEAR"], reason: str
) -> Submitted:
    from pydantic_ai import ModelRetry

    if "request_approval" in _called_with(ctx):
        raise ModelRetry(texts.GATE_FIRST)
    if item_id != ctx.deps.item_id:
        raise ModelRetry(f"Invalid verdict: item_id must be {ctx.deps.item_id!r}")
    return Submitted({"item_id": item_id, "verdict": verdict, "reason": make_storable(reason)})


async def _request_approval(summary: str, proposed_action: str) -> Asked:
    from pydantic_ai import ModelRetry

    if is_blank(summary) or is_blank(proposed_action):
        raise ModelRetry(texts.EMPTY_REQUEST)
    if not is_storable(summary + proposed_action):
        raise ModelRetry("Invalid request_approval: it contains a character that cannot be stored")
    if max(len(summary), len(proposed_action)) > LONGEST_REQUEST:
        raise ModelRetry(
            f"Invalid request_approval: each part may have at most {LONGEST_REQUEST} characters"
        )
    return Asked(summary, proposed_action)


def _read(ctx: RunContext[Review], path: str) -> str:
    """Read a text file of the workspace by its exact path."""
    from pydantic_ai import ModelRetry

    try:
        return ctx.deps.files.text(path) if ctx.deps.files else ""
    except (Outside, UnreadableItem) as error:
        raise ModelRetry(f"The file cannot be read. {error}") from error


def _called_with(ctx: RunContext[Review]) -> set[str]:
    """Return the names of the tools that the current response calls."""
    return {getattr(part, "tool_name", "") for part in ctx.messages[-1].parts}


def _events_in(response: ModelResponse, prefix: str) -> list[Said | Step]:
    events: list[Said | Step] = [
        Said(make_storable(part.content) + "\n")
        for part in response.parts
        if part.part_kind == "text" and part.content
    ]
    events += [
        Step(
            f"{prefix}{call.tool_call_id}",
            call.tool_name,
            "",
            make_storable(call.args_as_json_str())[:2000],
        )
        for call in response.tool_calls
    ]
    return events


def _used(usage: RunUsage) -> dict[str, Any]:
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }


def _with_protocol_results(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Replace the library's tool results in the conversation with those of the protocol."""
    results = {
        "submit_verdict": texts.VERDICT_RECORDED,
        "request_approval": texts.APPROVAL_REQUESTED,
    }
    for message in messages:
        for part in message.parts:
            if part.part_kind == "tool-return" and part.content == "Final result processed.":
                part.content = results.get(part.tool_name, part.content)
    return messages


def _classify(error: Exception, job: Review, turn: _Turn) -> Failed | Broke:
    """Return the result for an exception. An unreachable model says nothing about the item."""
    from pydantic_ai import exceptions as known

    message = f"{type(error).__name__}: {error}"
    if isinstance(error, known.UsageLimitExceeded):
        message = f"Turn limit ({job.turns}) reached without a submitted verdict."
        return Failed("no_verdict", message)
    if isinstance(error, known.UnexpectedModelBehavior):
        invalid = turn.tried[-1:] == ["submit_verdict"]
        return Failed("invalid_verdict" if invalid else "no_verdict", message)
    return Broke(
        message, limited=model_registry.is_limit(error), for_good=model_registry.is_for_good(error)
    )
