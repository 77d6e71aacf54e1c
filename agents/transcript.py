"""Writes what happens in a turn to the session's events, a few times a second at most.

The first words are written at once, so that a watcher sees life; what follows is gathered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from agents import starting
from agents.events import NewEvent
from agents.runtime import Ignored, Noticed, Reported, Said, Step, Turn, TurnEvent, Usage
from agents.starting import ClaimLost

#: Seconds between two writes, and how much text makes one come sooner.
EVERY = 0.1
ENOUGH = 16_000

Writer = Callable[..., Awaitable[Any]]


class Transcript:
    """The events of one turn. Raises ClaimLost from ``add`` once the claim is lost."""

    def __init__(self, turn: Turn, *, write: Writer) -> None:
        self._turn = turn
        self._write = write
        self._actor = f"agent:{turn.agent.slug}"
        self._waiting: list[NewEvent] = []
        self._words: list[str] = []
        self._size = 0
        self._count = 0
        self._timer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._lost = False

    async def add(self, event: TurnEvent) -> None:
        if isinstance(event, Said):
            self._words.append(event.text)
            self._size += len(event.text)
        else:
            self._gather()
            self._waiting.append(self._as_event(event))
        if self._size >= ENOUGH:
            await self.flush()
        elif self._timer is None or self._timer.done():
            await self.flush()
            self._timer = asyncio.create_task(self._flush_later())

    async def _flush_later(self) -> None:
        await asyncio.sleep(EVERY)
        await self.flush()

    async def flush(self) -> None:
        async with self._writing:
            self._gather()
            if self._waiting and not self._lost:
                batch, self._waiting = self._waiting, []
                self._lost = not await self._write(starting.append, self._turn.fence, batch)
        if self._lost:
            raise ClaimLost

    async def close(self) -> None:
        """Write what is left, unless the claim is lost or the turn is being cancelled."""
        if self._timer is not None:
            self._timer.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._timer
        if not self._lost:
            await self.flush()

    def _gather(self) -> None:
        if self._words:
            self._count += 1
            text = "".join(self._words)
            key = f"out:{self._turn.epoch}:{self._count}"
            self._waiting.append(NewEvent("output", self._actor, text, once_key=key))
            self._words, self._size = [], 0

    def _as_event(self, event: TurnEvent) -> NewEvent:
        match event:
            case Reported(text):
                return NewEvent("report", self._actor, text, once_key=_once("report", text))
            case Noticed(text):
                return NewEvent("notice", self._actor, text, once_key=_once("notice", text))
            case Ignored(line, why):
                key = _once("ignored", line + why)
                return NewEvent("ignored", "system", line, {"why": why}, once_key=key)
            case Step(call_id, title, status, detail):
                facts = {"call_id": call_id, "status": status, "detail": detail}
                key = _once("step", f"{self._turn.epoch}:{call_id}:{status}:{title}:{detail}")
                return NewEvent("step", self._actor, title, facts, once_key=key)
            case Usage(data):
                return NewEvent("usage", "system", "", data)
            case _:
                raise TypeError(f"{type(event).__name__} is not written to a transcript.")


def _once(kind: str, text: str) -> str:
    return sha256(f"{kind}\0{text}".encode()).hexdigest()


