"""The runtime ``responses-remote``: drives an agent behind any server of the Responses protocol.

A turn sends what the session is owed, follows the response to its end, and turns the agent's
questions into asks. What was sent is written down before it is sent, so that whoever takes the turn
over follows the same response instead of starting another.
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
from workspace.protocols.responses.remote.known import known_of
from workspace.protocols.responses.remote.server import Server
from workspace.protocols.responses.remote.settings import RemoteSettings
from workspace.protocols.responses.remote.talk import Talk

Reader = Callable[..., Awaitable[Any]]


class RemoteResponsesRuntime:
    """Drives a remote agent. ``read`` does database work from the event loop."""

    key = "responses-remote"
    settings_model: type[BaseModel] = RemoteSettings

    def __init__(
        self, read: Reader = in_database, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._read, self._transport = read, transport

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = RemoteSettings.model_validate(turn.agent.settings)
        except ValidationError as error:
            words = f"The agent's settings are not usable: {error.errors()[0]['msg']}."
            yield Ended(outcome=Outcome.RETRYABLE_ERROR, error=words, give_up=True)
            return
        known = await self._read(known_of, turn.session_id, turn.run_id)
        async with httpx.AsyncClient(transport=self._transport, trust_env=False) as client:
            talk = Talk(turn, settings, known, Server(settings, client))
            async with aclosing(_within(settings.wall_clock_seconds, talk)) as events:
                async for event in events:
                    yield event


async def _within(seconds: float, talk: Talk) -> AsyncGenerator[TurnEvent, None]:
    """The turn's events; one that takes too long ends in words, and is followed on next time."""
    deadline = asyncio.get_running_loop().time() + seconds
    async with aclosing(talk.events()) as events:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                yield talk.endings.broke(f"The agent took longer than {seconds:g} seconds.")
                return
            yield event
