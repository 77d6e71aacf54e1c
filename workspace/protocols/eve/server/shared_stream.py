"""Follow sessions for readers: all readers of a session in this process share one read and one fold.

The newest lines are kept while somebody follows; older lines are read from the log. An idle reader
holds no thread and no database connection, and a session without readers holds nothing.
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

#: Lines kept for followers. A reader that is further behind reads the log again.
KEPT = 500
#: Seconds after which a session is read again without a notification.
LOOK_EVERY = 5.0
#: Seconds between two reads of a busy session.
AT_LEAST = 0.02


@dataclass
class Cursor:
    """How far a session was read: the log's ``seq``, and the number of lines up to there."""

    fold: Fold
    seq: int = 0
    count: int = 0
    has_caught_up: bool = False


def line_of(event: Json) -> bytes:
    """Return a wire event as its line: the same bytes every time."""
    return one_line_json(event).encode() + b"\n"


def read_on(session_id: int, cursor: Cursor) -> list[bytes]:
    """Return the next lines of a session, and advance the cursor."""
    before = cursor.seq
    happened, cursor.seq = log_reader.read_after(session_id, before)
    cursor.has_caught_up = len(happened) < log_reader.PAGE
    lines = [line_of(event) for each in happened for event in cursor.fold.take(each)]
    cursor.count += len(lines)
    return lines


async def count_of(session_id: int, about: About) -> int:
    """Count the lines that a session has now."""
    cursor = Cursor(Fold(about))
    while not cursor.has_caught_up:
        await in_database(read_on, session_id, cursor)
    return cursor.count


async def pages(session_id: int, about: About) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Yield all current lines of a session in pages, each with the number of its first line."""
    cursor = Cursor(Fold(about))
    while not cursor.has_caught_up:
        first = cursor.count
        yield first, await in_database(read_on, session_id, cursor)


class SharedStream:
    """A session that is followed in this process: its newest lines, and the readers that wait for more.

    ``count`` and ``is_over`` change together with the lines, on the event loop. Threads advance the
    cursor ahead of them.
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
        """Return the number of the oldest line kept."""
        return self.count - len(self.lines)

    def since(self, count: int) -> bytes | None:
        """Return the lines from that number on; None if they are no longer kept."""
        if count < self.first:
            return None
        behind = self.count - count
        if behind <= 0:
            return b""
        if behind == 1:
            return self.lines[-1]
        return b"".join(self.lines[place] for place in range(-behind, 0))

    def news(self) -> asyncio.Event:
        """Return an event that is set as soon as there are more lines."""
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
                self.publish(await in_database(read_on, self.session_id, self._cursor))
                if self._cursor.has_caught_up:
                    await asyncio.sleep(AT_LEAST)
                    await watcher.woken(LOOK_EVERY)
        except Exception:
            self.is_over = self.is_broken = True
            raise
        finally:
            live_hub().leave(watcher)
            self._wake()

    def publish(self, lines: list[bytes]) -> None:
        """Hand new lines of the cursor to the waiting readers."""
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
    """Share a session's stream among its readers in this process. The first reader starts it."""
    here = _shared.setdefault(asyncio.get_running_loop(), {})
    shared = here.get(session_id)
    if shared is None or shared.is_broken:
        shared = here[session_id] = SharedStream(session_id, about)
        shared.begin()
    shared.readers += 1
    try:
        yield shared
    finally:
        shared.readers -= 1
        if not shared.readers:
            shared.end()
            if here.get(session_id) is shared:
                del here[session_id]


async def wait_for(news: asyncio.Event, seconds: float) -> bool:
    """Wait for news for at most ``seconds``. Tell whether there was any."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await news.wait()
            return True
    return False
