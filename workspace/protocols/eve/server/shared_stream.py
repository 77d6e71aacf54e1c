"""Follows sessions for readers: one read and one fold of a session for all who follow it here.

The newest lines are kept as long as somebody follows; whoever wants older ones reads the log. A
reader holds no thread and no connection to the database while nothing happens, and a session that
nobody reads holds nothing at all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from agents.db.retrying import in_database
from workspace.live.hub import live_hub
from workspace.live.subscriber import Subscriber
from workspace.protocols.common.http import one_line_json
from workspace.protocols.eve.server import log_reader
from workspace.protocols.eve.server.fold import Fold
from workspace.protocols.eve.server.log_events import About, Json

#: Lines that are kept for those who follow; who is further behind reads the log again.
KEPT = 500
#: Seconds after which a session is looked at without a hint.
LOOK_EVERY = 5.0
#: Seconds between two looks when much happens at once.
AT_LEAST = 0.02


@dataclass
class Cursor:
    """How far a session was read: the log's ``seq``, and how many lines that made."""

    fold: Fold
    seq: int = 0
    count: int = 0
    has_caught_up: bool = False


def line_of(event: Json) -> bytes:
    """A wire event as its line, the same bytes every time."""
    return one_line_json(event).encode() + b"\n"


def read_on(session_id: int, cursor: Cursor) -> list[bytes]:
    """The next lines of a session. The cursor moves, and knows whether it has caught up."""
    before = cursor.seq
    happened, cursor.seq = log_reader.read_after(session_id, before)
    cursor.has_caught_up = len(happened) < log_reader.PAGE
    lines = [line_of(event) for each in happened for event in cursor.fold.take(each)]
    cursor.count += len(lines)
    return lines


async def count_of(session_id: int, about: About) -> int:
    """How many lines a session has now."""
    cursor = Cursor(Fold(about))
    while not cursor.has_caught_up:
        await in_database(read_on, session_id, cursor)
    return cursor.count


async def pages(session_id: int, about: About) -> AsyncIterator[tuple[int, list[bytes]]]:
    """All lines of a session up to now, page by page, with the number of each page's first."""
    cursor = Cursor(Fold(about))
    while not cursor.has_caught_up:
        first = cursor.count
        yield first, await in_database(read_on, session_id, cursor)


class SharedStream:
    """A session that is followed here: its newest lines, and who waits for more of them.

    ``count`` and ``is_over`` move with the lines, on the event loop; the cursor is moved by threads,
    ahead of them.
    """

    def __init__(self, session_id: int, about: About) -> None:
        self.session_id = session_id
        self.count, self.is_over = 0, False
        self.lines: deque[bytes] = deque(maxlen=KEPT)
        self._cursor = Cursor(Fold(about))
        self.readers = 0
        self.is_broken = False
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def first(self) -> int:
        """The number of the oldest line that is kept."""
        return self.count - len(self.lines)

    def since(self, count: int) -> bytes | None:
        """The lines from that number on; None when they are not kept any more."""
        if count < self.first:
            return None
        behind = self.count - count
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
        watcher = Subscriber("", self.session_id)
        live_hub().overhear(watcher, f"s:{self.session_id}")
        try:
            while not self.is_over:
                self.tell(await in_database(read_on, self.session_id, self._cursor))
                if self._cursor.has_caught_up:
                    await asyncio.sleep(AT_LEAST)
                    await watcher.woken(LOOK_EVERY)
        except Exception:
            self.is_over = self.is_broken = True
            raise
        finally:
            live_hub().leave(watcher)
            self._wake()

    def tell(self, lines: list[bytes]) -> None:
        """Have the lines that the cursor has just made read by whoever waits."""
        self.lines.extend(lines)
        self.count, self.is_over = self._cursor.count, self._cursor.fold.is_over
        if lines:
            self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, SharedStream]] = WeakKeyDictionary()


@asynccontextmanager
async def shared_stream(session_id: int, about: About) -> AsyncIterator[SharedStream]:
    """What is shared of a session, by all who follow it here; the first of them begins it."""
    here = _shared.setdefault(asyncio.get_running_loop(), {})
    found = here.get(session_id)
    if found is None or found.is_broken:
        found = here[session_id] = SharedStream(session_id, about)
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
