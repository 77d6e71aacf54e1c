"""Write the events of a running turn, at most a few times a second.

The first output is written almost at once, so that a watcher sees that the turn is alive. Later events
are collected during the previous write and for a moment after it. If events come faster than the
database stores them, ``Transcript.add`` waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from hashlib import sha256
from types import TracebackType
from typing import Any, Self

from agents import actors, claims
from agents.claims import ClaimLost
from agents.events.log import NewEvent
from agents.running.runtime import (
    Ignored,
    Noted,
    Noticed,
    Reported,
    Said,
    Step,
    Turn,
    TurnEvent,
    Usage,
)

#: Seconds from one write to the next, and how many characters or events trigger a write earlier.
EVERY = 0.1
ENOUGH = 16_000
MANY = 50
#: Seconds that the first output waits for more. A turn that ends earlier needs no separate write.
FIRST = 0.02
#: Seconds to write the last events of a cancelled turn.
LAST_WORDS = 1.0

Writer = Callable[..., Awaitable[Any]]


class Transcript:
    """The events of one turn. An async context manager: on leaving, everything has been written.

    Raises ClaimLost once the claim is lost, and any exception of ``write``. If the block is left
    because the turn is cancelled, unwritten events are dropped after a second.
    """

    def __init__(self, turn: Turn, *, write: Writer) -> None:
        self._turn = turn
        self._write = write
        self._actor = actors.agent_named(turn.agent.slug)
        self._waiting: list[NewEvent] = []
        self._words: list[str] = []
        self._size = 0
        self._count = 0
        self._closing = self._handing_over = False
        self._news = asyncio.Event()
        self._hurry = asyncio.Event()
        self._room = asyncio.Event()
        self._writer: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._keep_writing())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing = True
        self._news.set()
        self._hurry.set()
        if isinstance(error, ClaimLost) or (kind and not issubclass(kind, Exception)):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._writer, LAST_WORDS)
        else:
            await self._writer

    async def add(self, event: TurnEvent) -> None:
        """Add an event, to be written soon. Waits only if many are waiting already."""
        if isinstance(event, Said):
            self._words.append(event.text)
        else:
            self._gather()
            self._waiting.append(self._as_event(event))
        self._size += len(event.text) if isinstance(event, Said | Reported | Noticed) else 1
        self._news.set()
        while self._is_much() and not self._writer.done():
            self._hurry.set()
            self._room.clear()
            await self._room.wait()
        if self._writer.done():
            await self._writer

    async def hand_over(self) -> list[NewEvent]:
        """Stop writing and return the unwritten events, to be written with the turn's end."""
        self._closing = self._handing_over = True
        self._news.set()
        self._hurry.set()
        await self._writer
        self._gather()
        rest, self._waiting = self._waiting, []
        return rest

    async def _keep_writing(self) -> None:
        try:
            await self._news.wait()
            await self._pause(FIRST)
            while not self._handing_over:
                self._news.clear()
                await self._write_waiting()
                if self._closing and not self._news.is_set():
                    return
                await self._pause(EVERY)
                await self._news.wait()
        finally:
            self._room.set()

    async def _write_waiting(self) -> None:
        self._gather()
        batch, self._waiting, self._size = self._waiting, [], 0
        if batch and not await self._write(claims.append_events, self._turn.fence, batch):
            raise ClaimLost
        self._room.set()

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until a write is urgent."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)
        if not self._closing:
            self._hurry.clear()

    def _is_much(self) -> bool:
        return self._size >= ENOUGH or len(self._waiting) >= MANY

    def _gather(self) -> None:
        """Join the collected output into one event."""
        if self._words:
            self._waiting.append(self._numbered("output", self._actor, "".join(self._words)))
            self._words = []

    def _numbered(
        self, kind: str, actor: str, text: str = "", data: dict[str, Any] | None = None
    ) -> NewEvent:
        """Return an event with a unique key: it is stored once, even if its write is repeated."""
        self._count += 1
        return NewEvent(kind, actor, text, data or {}, f"{self._turn.epoch}:{self._count}")

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
                return self._numbered("usage", "system", data=data)
            case Noted(kind, data):
                return self._numbered("noted", self._actor, data={**data, "kind": kind})
            case _:
                raise TypeError(f"{type(event).__name__} is not written to a transcript.")


def _once(kind: str, text: str) -> str:
    """Return a key of the content, so that a marker that is read again is stored once per run."""
    return sha256(f"{kind}\0{text}".encode(errors="replace")).hexdigest()
