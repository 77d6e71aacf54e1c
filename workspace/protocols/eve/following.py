"""Follows sessions for readers: one read and one fold of a session for all who follow it here.

A reader catches up by itself, from the beginning of the log, and then shares what is new. It holds
no thread and no connection to the database while nothing happens, and a session that nobody reads
holds nothing at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from agents.database import in_database
from workspace.live.hub import hub
from workspace.live.watcher import Watcher
from workspace.protocols.eve import reading
from workspace.protocols.eve.fold import Fold
from workspace.protocols.eve.happened import About, Json

#: Lines that are kept for those who follow; who is further behind reads the log again.
KEPT = 2000
#: Seconds after which a session is looked at without a hint.
LOOK_EVERY = 5.0


@dataclass
class Cursor:
    """How far a session was read: the log's ``seq``, and how many lines that made."""

    fold: Fold
    seq: int = 0
    count: int = 0


def line_of(event: Json) -> bytes:
    """A wire event as its line, the same bytes every time."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_on(session_id: int, cursor: Cursor) -> list[bytes]:
    """The next lines of a session; none at its end. The cursor moves. Synchronous."""
    happened, cursor.seq = reading.after(session_id, cursor.seq)
    lines = [line_of(event) for each in happened for event in cursor.fold.take(each)]
    cursor.count += len(lines)
    return lines


async def count_of(session_id: int, about: About) -> int:
    """How many lines a session has now."""
    cursor = Cursor(Fold(about))
    while await more(session_id, cursor) is not None:
        pass
    return cursor.count


async def more(session_id: int, cursor: Cursor) -> list[bytes] | None:
    """The next lines of a reader's own; None once it has caught up."""
    before = cursor.seq
    lines = await in_database(read_on, session_id, cursor)
    return None if cursor.seq == before else lines


class Shared:
    """A session that is followed here: its newest lines, and who waits for more of them."""

    def __init__(self, session_id: int, cursor: Cursor) -> None:
        self.session_id = session_id
        self.cursor = cursor
        self.lines: deque[bytes] = deque(maxlen=KEPT)
        self.readers = 0
        self.broken = False
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def first(self) -> int:
        """The number of the oldest line that is kept."""
        return self.cursor.count - len(self.lines)

    @property
    def is_over(self) -> bool:
        return self.cursor.fold.is_over or self.broken

    def since(self, count: int) -> bytes | None:
        """The lines from that number on; None when they are not kept any more."""
        if count < self.first:
            return None
        behind = self.cursor.count - count
        if behind <= 0:
            return b""
        if behind == 1:
            return self.lines[-1]
        return b"".join(self.lines[place] for place in range(-behind, 0))

    def news(self) -> asyncio.Event:
        """Set once there is more than there is now."""
        return self._news

    def begin(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._follow())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _follow(self) -> None:
        watcher = Watcher("", self.session_id)
        hub().overhear(watcher, f"s:{self.session_id}")
        try:
            while not self.is_over:
                while (lines := await more(self.session_id, self.cursor)) is not None:
                    self._tell(lines)
                await watcher.woken(LOOK_EVERY)
        except Exception:
            self.broken = True
            raise
        finally:
            hub().leave(watcher)
            self._tell([], always=True)

    def _tell(self, lines: list[bytes], *, always: bool = False) -> None:
        self.lines.extend(lines)
        if lines or always:
            news, self._news = self._news, asyncio.Event()
            news.set()


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Shared]] = WeakKeyDictionary()


def known(session_id: int) -> Shared | None:
    """What is shared of a session here, if anybody follows it."""
    return _shared.setdefault(asyncio.get_running_loop(), {}).get(session_id)


@asynccontextmanager
async def shared(session_id: int, cursor: Cursor) -> AsyncIterator[Shared]:
    """What is shared of a session; it goes on from ``cursor`` if nobody followed it yet."""
    here = _shared.setdefault(asyncio.get_running_loop(), {})
    found = here.get(session_id)
    if found is None or found.broken:
        found = here[session_id] = Shared(session_id, cursor)
        found.begin()
    found.readers += 1
    try:
        yield found
    finally:
        found.readers -= 1
        if not found.readers:
            found.end()
            if here.get(session_id) is found:
                del here[session_id]


async def wait_for(news: asyncio.Event, seconds: float) -> bool:
    """Whether there was news before so many seconds had passed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await news.wait()
            return True
    return False
