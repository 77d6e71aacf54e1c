"""The newest events of a session, read and rendered once for all sockets."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from agents.db.retrying import in_database
from agents.events.log import PAGE, events_after
from workspace.pages import fragments

#: Events of one message, and about how many characters; one event may be longer.
BATCH, BATCH_LENGTH = PAGE, 256_000
#: Events kept for sockets that are behind, and about how many characters.
KEPT, KEPT_LENGTH = 512, 1_000_000


class BufferedEvent(NamedTuple):
    """One rendered event."""

    seq: int
    html: str


class EventBuffer:
    """One session's newest events.

    ``seq`` has no gaps, so an event's place in the buffer is arithmetic. ``last`` is the newest
    event that was read; a tail follows what is committed, so it is never ahead of the database.
    """

    def __init__(self, session_id: int, start: int) -> None:
        self.session_id = session_id
        self.last = start
        self._items: deque[BufferedEvent] = deque()
        self._length = 0
        self._stale = True
        self._reading = asyncio.Lock()

    def told(self, seq: int) -> None:
        """Note that the session has events up to ``seq``."""
        if seq > self.last:
            self._stale = True

    async def after(self, cursor: int) -> Sequence[BufferedEvent]:
        """Return the next events above the cursor, at most one batch."""
        await self._catch_up()
        if cursor >= self.last:
            return ()
        if self._items and self._items[0].seq <= cursor + 1:
            place = cursor + 1 - self._items[0].seq
            return _batch(islice(self._items, place, place + BATCH))
        return _batch(await in_database(_read, self.session_id, cursor))

    async def _catch_up(self) -> None:
        async with self._reading:
            while self._stale:
                self._stale = False
                try:
                    self._keep(await in_database(_read, self.session_id, self.last))
                except BaseException:
                    self._stale = True
                    raise

    def _keep(self, items: list[BufferedEvent]) -> None:
        if not items:
            return
        self.last = items[-1].seq
        self._items.extend(items)
        self._length += sum(len(item.html) for item in items)
        while len(self._items) > KEPT or (self._length > KEPT_LENGTH and len(self._items) > 1):
            self._length -= len(self._items.popleft().html)
        self._stale |= len(items) == PAGE


def _read(session_id: int, cursor: int) -> list[BufferedEvent]:
    return [
        BufferedEvent(event.seq, fragments.event_html(event))
        for event in events_after(session_id, cursor)
    ]


def _batch(items: islice[BufferedEvent] | list[BufferedEvent]) -> list[BufferedEvent]:
    """Return the items that fit into one message."""
    taken: list[BufferedEvent] = []
    length = 0
    for item in items:
        length += len(item.html)
        if taken and length > BATCH_LENGTH:
            break
        taken.append(item)
    return taken
