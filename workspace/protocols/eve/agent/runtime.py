"""The runtime ``eve``: an agent defined in Python, a turn of which is one go of its model and tools.

A turn that needs an approval or an answer parks: what it waits for are rows, and nothing runs. The
next turn looks at those rows and goes on where it was.

What it notes for the protocol's door is told by ``telling``. Denied and ignored calls are not among
it: the door tells those from what was decided, since that is before the turn which goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from agents.claims import ClaimLost
from agents.db.retrying import in_database, once_in_database
from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn, TurnEvent, Usage
from workspace.protocols.common import model_registry
from workspace.protocols.common.turn_settings import (
    TurnEnded,
    check_attempts,
    permanent_failure,
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

#: When a quota is there again if its vendor does not say, and the longest that one is believed.
LIMIT_PASSES = timedelta(minutes=5)
LONGEST_WAIT = timedelta(days=1)
Reader = Callable[..., Awaitable[Any]]


class EveRuntime:
    """Runs agents that are defined in Python. ``read`` does database work from the event loop."""

    key = ignoring.RUNTIME
    settings_model: type[BaseModel] = EveSettings

    def __init__(self, read: Reader = in_database, once: Reader = once_in_database) -> None:
        self._read, self._once = read, once

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
            yield permanent_failure(str(error))
            return
        go = _Go(turn, settings, definition, model, read=self._read, once=self._once)
        async with aclosing(_told_by(go.take)) as telling:
            async for event in telling:
                yield event


async def _told_by(
    work: Callable[[Callable[[TurnEvent], None]], Awaitable[Ended]],
) -> AsyncGenerator[TurnEvent, None]:
    """What some work tells while it goes on, and its end. It is cancelled when nobody listens."""
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

    async def take(self, tell: Callable[[TurnEvent], None]) -> Ended:
        """Go on from what is waited for, if all of it is settled; otherwise go on waiting."""
        turn = self._turn
        resolved = await self._resolve()
        said = [*self._own.get("held", []), *prompts.given_prompt(turn, resolved)]
        if any(one.is_open for one in resolved):
            return self._waits_on(resolved, said)
        telling = Reporter(
            tell, prefix=f"{turn.run_id}.{turn.epoch}.", model_id=self._model.model_name
        )
        try:
            async with asyncio.timeout(self._settings.wall_clock_seconds):
                told = [*prompts.approvals_prompt(resolved), *said]
                thought = await self._think(telling, resolved, told)
        except Exception as error:  # noqa: BLE001 -- sorted into what trying again changes and what not
            telling.broke(type(error).__name__, str(error))
            return self._broke(error)
        tell(Usage(dict(thought.usage)))
        keep = partial(conversation.store_conversation, messages=thought.messages)
        return replace(self._ended(thought), keep=keep)

    async def _resolve(self) -> list[Resolved]:
        """Where the parked calls stand. A person's message ends the waiting, without approving."""
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

    def _waits_on(self, resolved: list[Resolved], said: list[str]) -> Ended:
        """Ask again what nobody has answered. What came meanwhile is told once all is answered."""
        waiting = [one.parked for one in resolved if one.state is ResolutionState.WAITS]
        return self._end(
            Outcome.BLOCKED,
            asks=waiting,
            parked=[one.parked for one in resolved],
            held=said,
        )

    async def _think(self, telling: Reporter, resolved: list[Resolved], said: list[str]) -> Thought:
        from workspace.protocols.eve.agent import loop
        from workspace.protocols.eve.agent.calls import Calls

        turn = self._turn
        history = await self._read(conversation.conversation_of, turn.session_id)
        if not said and not resolved:
            said = [turn.agent.mission or prompts.BEGIN]
        return await loop.think(
            loop.ModelTurn(
                definition=self._definition,
                model=self._model,
                instructions=prompts.instructions_prompt(self._definition, turn),
                prompt="\n\n".join(said) or None,
                history=history,
                resolved=resolved,
                calls=Calls(turn, resolved, telling, read=self._read, once=self._once),
                telling=telling,
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
        """Whether trying again may help. What was approved and done is not done again."""
        if isinstance(error, ClaimLost):
            raise error
        words = f"{type(error).__name__}: {error}"[:2000]
        if isinstance(error, TimeoutError):
            words = f"The turn took longer than {self._settings.wall_clock_seconds:g} seconds."
        if model_registry.is_limit(error):
            wait = getattr(error, "retry_after", None) or LIMIT_PASSES.total_seconds()
            later = datetime.now(UTC) + timedelta(seconds=min(wait, LONGEST_WAIT.total_seconds()))
            return Ended(outcome=Outcome.RATE_LIMITED, error=words, retry_at=later)
        last = self._turn.failures + 1 >= self._settings.max_attempts
        ended = Ended(outcome=Outcome.RETRYABLE_ERROR, error=words)
        return replace(ended, give_up=last or model_registry.is_for_good(error))


def _model(settings: EveSettings, definition: AgentDefinition) -> Model:
    named = settings.model or definition.model
    if callable(named):
        made: Model = named()
        return made
    if not named:
        raise model_registry.NoSuchModel("Neither the settings nor the definition name a model.")
    return model_registry.model_named(named)
