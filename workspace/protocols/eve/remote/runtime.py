"""The runtime ``eve-remote``: drives an agent behind any eve server, of both eras.

A turn reads on where the stream was left, sends what the session is owed, follows the stream to
where the agent rests, and turns what it asks into asks. Nothing is held while it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from agents.database import in_database
from agents.lifecycle import Outcome
from agents.runtime import Ended, Turn, TurnEvent
from workspace.protocols.eve.remote.known import known_of
from workspace.protocols.eve.remote.server import EveServer
from workspace.protocols.eve.remote.settings import EveRemoteSettings
from workspace.protocols.eve.remote.talk import Talk

KEY = "eve-remote"
Reader = Callable[..., Awaitable[Any]]


class RemoteEveRuntime:
    """Drives a remote agent. ``read`` does database work from the event loop."""

    key = KEY
    settings_model: type[BaseModel] = EveRemoteSettings

    def __init__(self, read: Reader = in_database) -> None:
        self._read = read

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = EveRemoteSettings.model_validate(turn.agent.settings)
        except ValidationError as error:
            words = f"The agent's settings are not usable: {error.errors()[0]['msg']}."
            yield Ended(outcome=Outcome.RETRYABLE_ERROR, error=words, give_up=True)
            return
        known = await self._read(known_of, turn.session_id, turn.run_id)
        async with httpx.AsyncClient(trust_env=False) as client:
            talk = Talk(turn, settings, known, EveServer(settings, client))
            async with aclosing(_within(settings.wall_clock_seconds, talk)) as events:
                async for event in events:
                    yield event


async def _within(seconds: float, talk: Talk) -> AsyncGenerator[TurnEvent, None]:
    """The turn's events; one that takes too long ends in words, and is read on next time."""
    deadline = asyncio.get_running_loop().time() + seconds
    async with aclosing(talk.events()) as events:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                yield talk.took_too_long(seconds)
                return
            yield event
