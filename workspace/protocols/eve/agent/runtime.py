"""The runtime ``eve``: take one turn of an agent defined in Python, its model and its tools.

A turn that needs an approval or an answer parks: the calls it waits for are stored, and nothing
runs. The next turn reads their state and continues from there.

``reporter`` emits the events that the eve endpoint shows. Denied and ignored calls are not among
them: the endpoint derives those from the verdicts, which come before the turn that continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from pydantic import BaseModel

from agents.claims import ClaimLost
from agents.db.retrying import in_database, once_in_database
from agents.lifecycle import Outcome
from agents.mending.checks import Finding
from agents.running.runtime import Ended, Turn, TurnEvent, Usage
from workspace.protocols.common import model_registry
from workspace.protocols.common.settings_checks import note_model
from workspace.protocols.common.turn_settings import (
    TurnEnded,
    check_attempts,
    end_unstartable,
    settings_of,
)
from workspace.protocols.eve.agent import conversation, ignoring, prompts
from workspace.protocols.eve.agent.parking import Parked, draft_of, parked_in
from workspace.protocols.eve.agent.reporter import Reporter
from workspace.protocols.eve.agent.resolving import ResolutionState, Resolved, resolve_parked
from workspace.protocols.eve.settings import EveSettings
from workspace.toolkit import AgentDefinition, BadTool, NoSuchAgent, agent_named

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from workspace.protocols.eve.agent.loop import Thought

#: Wait after a rate limit if the vendor names no time, and the longest wait that is honoured.
LIMIT_PASSES = timedelta(minutes=5)
LONGEST_WAIT = timedelta(days=1)
Reader = Callable[..., Awaitable[Any]]


class EveRuntime:
    """Run agents defined in Python.

    ``read`` runs repeatable database work from the event loop, ``once`` work that is not repeatable.
    """

    key = ignoring.RUNTIME
    settings_model: type[BaseModel] = EveSettings

    def __init__(self, read: Reader = in_database, once: Reader = once_in_database) -> None:
        self._read, self._once = read, once

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        """Import the definition, as a turn would, and prepare its model."""
        checked = EveSettings.model_validate(settings)
        try:
            definition = agent_named(checked.agent)
        except (NoSuchAgent, BadTool) as error:
            return [Finding("agent", str(error))]
        try:
            _model(checked, definition)
        except model_registry.NoSuchModel as error:
            return [note_model(checked.model, error)]
        return []

    def find_input_flaws(
        self, settings: dict[str, Any], operation: str, params: object
    ) -> list[tuple[str, str]]:
        """Have the tool validate a call. A tool that no longer exists finds everything wrong."""
        definition = agent_named(EveSettings.model_validate(settings).agent)
        found = definition.by_name.get(operation)
        return found.flaws(params) if found else [("", _("The agent has no such tool any more."))]

    def show_prompt(self, turn: Turn) -> str:
        """Return the instructions and what came since the last turn. The conversation is not shown."""
        settings = EveSettings.model_validate(turn.agent.settings)
        told = prompts.instructions_prompt(agent_named(settings.agent), turn)
        given = prompts.given_prompt(turn, []) or [turn.agent.mission or prompts.BEGIN]
        return "\n\n".join([told, *given])

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, EveSettings)
            check_attempts(turn, settings.max_attempts)
            definition = agent_named(settings.agent)
            model = _model(settings, definition)
        except TurnEnded as over:
            yield over.ended
            return
        except (NoSuchAgent, BadTool, model_registry.NoSuchModel) as error:
            yield end_unstartable(str(error))
            return
        go = _Go(turn, settings, definition, model, read=self._read, once=self._once)
        async with aclosing(_events_of(go.take)) as events:
            async for event in events:
                yield event


async def _events_of(
    work: Callable[[Callable[[TurnEvent], None]], Awaitable[Ended]],
) -> AsyncGenerator[TurnEvent, None]:
    """Yield the events that ``work`` reports, then its result. Closing the generator cancels it."""
    queue: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
    task = asyncio.ensure_future(work(queue.put_nowait))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Go:
    """One turn of one session."""

    def __init__(
        self,
        turn: Turn,
        settings: EveSettings,
        definition: AgentDefinition,
        model: Model,
        *,
        read: Reader,
        once: Reader,
    ) -> None:
        self._turn, self._settings, self._definition = turn, settings, definition
        self._model, self._read, self._once = model, read, once
        self._own = dict(turn.session_data.get("eve") or {})

    async def take(self, emit: Callable[[TurnEvent], None]) -> Ended:
        """Continue if every parked call is settled; otherwise keep waiting."""
        turn = self._turn
        resolved = await self._resolve()
        prompt_parts = [*self._own.get("held", []), *prompts.given_prompt(turn, resolved)]
        if any(call.is_open for call in resolved):
            return self._waits_on(resolved, prompt_parts)
        reporter = Reporter(
            emit, prefix=f"{turn.run_id}.{turn.epoch}.", model_id=self._model.model_name
        )
        try:
            async with asyncio.timeout(self._settings.wall_clock_seconds):
                prompt_parts = [*prompts.approvals_prompt(resolved), *prompt_parts]
                thought = await self._think(reporter, resolved, prompt_parts)
        except Exception as error:  # noqa: BLE001 -- classified by whether a retry can help
            reporter.broke(type(error).__name__, str(error))
            return self._broke(error)
        emit(Usage(dict(thought.usage)))
        keep = partial(conversation.store_conversation, messages=thought.messages)
        return replace(self._ended(thought), keep=keep)

    async def _resolve(self) -> list[Resolved]:
        """Resolve the parked calls. A person's message closes those that wait, and approves nothing."""
        turn, parked = self._turn, parked_in(self._turn.session_data)
        if not parked:
            return []
        resolved: list[Resolved] = await self._read(resolve_parked, turn.session_id, parked)
        waits = any(one.state is ResolutionState.WAITS for one in resolved)
        if waits and any(
            given.kind == "message" and ignoring.is_a_person(given.author) for given in turn.given
        ):
            if not await self._read(ignoring.release_ignored, turn.fence):
                raise ClaimLost
            resolved = await self._read(resolve_parked, turn.session_id, parked)
        return resolved

    def _waits_on(self, resolved: list[Resolved], held: list[str]) -> Ended:
        """Keep the open asks. ``held`` input reaches the model once all of them are answered."""
        waiting = [one.parked for one in resolved if one.state is ResolutionState.WAITS]
        return self._end(
            Outcome.BLOCKED,
            asks=waiting,
            parked=[one.parked for one in resolved],
            held=held,
        )

    async def _think(
        self, reporter: Reporter, resolved: list[Resolved], prompt_parts: list[str]
    ) -> Thought:
        from workspace.protocols.eve.agent import loop
        from workspace.protocols.eve.agent.calls import Calls

        turn = self._turn
        history = await self._read(conversation.conversation_of, turn.session_id)
        if not prompt_parts and not resolved:
            prompt_parts = [turn.agent.mission or prompts.BEGIN]
        return await loop.think(
            loop.ModelTurn(
                definition=self._definition,
                model=self._model,
                instructions=prompts.instructions_prompt(self._definition, turn),
                prompt="\n\n".join(prompt_parts) or None,
                history=history,
                resolved=resolved,
                calls=Calls(turn, resolved, reporter, read=self._read, once=self._once),
                reporter=reporter,
                max_steps=self._settings.max_steps,
            )
        )

    def _ended(self, thought: Thought) -> Ended:
        if thought.parked:
            return self._end(Outcome.BLOCKED, asks=thought.parked, parked=thought.parked)
        return self._end(Outcome.WORK_DONE, report=thought.words)

    def _end(
        self,
        outcome: Outcome,
        *,
        report: str = "",
        asks: list[Parked] | tuple[Parked, ...] = (),
        parked: list[Parked] | tuple[Parked, ...] = (),
        held: list[str] | None = None,
    ) -> Ended:
        own = {**self._own, "parked": [one.as_json() for one in parked], "held": held or []}
        tools = self._definition.by_name
        return Ended(
            outcome=outcome,
            report=report,
            asks=tuple(draft_of(one, tools.get(one.tool_name)) for one in asks),
            session_data={**self._turn.session_data, "eve": own},
        )

    def _broke(self, error: Exception) -> Ended:
        """End a failed turn; give up if a retry cannot help. A retry repeats no approved effect."""
        if isinstance(error, ClaimLost):
            raise error
        message = f"{type(error).__name__}: {error}"[:2000]
        if isinstance(error, TimeoutError):
            message = f"The turn took longer than {self._settings.wall_clock_seconds:g} seconds."
        if model_registry.is_limit(error):
            wait = getattr(error, "retry_after", None) or LIMIT_PASSES.total_seconds()
            later = datetime.now(UTC) + timedelta(seconds=min(wait, LONGEST_WAIT.total_seconds()))
            return Ended(outcome=Outcome.RATE_LIMITED, error=message, retry_at=later)
        last = self._turn.failures + 1 >= self._settings.max_attempts
        ended = Ended(outcome=Outcome.RETRYABLE_ERROR, error=message)
        return replace(ended, give_up=last or model_registry.is_for_good(error))


def _model(settings: EveSettings, definition: AgentDefinition) -> Model:
    named = settings.model or definition.model
    if callable(named):
        made: Model = named()
        return made
    if not named:
        raise model_registry.NoSuchModel("Neither the settings nor the definition name a model.")
    return model_registry.model_named(named)
