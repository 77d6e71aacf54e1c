"""A session's stream for one reader: lines from an index on, heartbeats, and the lease."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agents.db.retrying import in_database
from workspace.models import ApiKey
from workspace.protocols.eve.server import service, shared_stream
from workspace.protocols.eve.server.log_events import About
from workspace.protocols.eve.server.shared_stream import SharedStream

#: Seconds of silence before a heartbeat; seconds until a leased stream ends and its reader
#: reconnects; seconds between two checks whether the reader may still read.
HEARTBEAT = float(os.environ.get("EVE_HEARTBEAT_SECONDS", "10"))
LEASE = float(os.environ.get("EVE_LEASE_SECONDS", "60"))
LOOK_AT_RIGHTS = 30.0
BEAT = b"\n"
LEASE_ENDED = b'{"$eve":"stream.lease-ended","version":1}\n'


@dataclass(frozen=True)
class StreamRequest:
    """What a reader asked for. ``until`` is the index where a stream without ``follow`` ends."""

    key: ApiKey
    session_id: int
    about: About
    start: int
    until: int | None = None
    leased: bool = False


async def stream_lines(request: StreamRequest) -> AsyncGenerator[bytes, None]:
    """Yield a heartbeat at once, then the lines from ``start`` on as they appear."""
    yield BEAT
    if request.until is not None:
        async for chunk in _written(request, request.start, request.until):
            yield chunk
        return
    at, clock = request.start, _Clock(request)
    async with shared_stream.shared_stream(request.session_id, request.about) as shared:
        while True:
            async for chunk in _live(shared, at, clock):
                at += chunk.count(b"\n") if chunk not in (BEAT, LEASE_ENDED) else 0
                yield chunk
            if clock.is_over or (shared.is_over and at >= shared.count):
                return
            async for chunk in _written(request, at, shared.count):
                at += chunk.count(b"\n")
                yield chunk


async def _written(request: StreamRequest, start: int, until: int) -> AsyncGenerator[bytes, None]:
    """Yield lines of the log, read for this reader alone."""
    async for first, page in shared_stream.pages(request.session_id, request.about):
        if chunk := b"".join(page[max(start - first, 0) : max(until - first, 0)]):
            yield chunk
        if first + len(page) >= until:
            return


async def _live(shared: SharedStream, at: int, clock: _Clock) -> AsyncGenerator[bytes, None]:
    """Yield new lines as they appear. End when the reader's time is up or it is too far behind."""
    while True:
        news, is_over = shared.news(), shared.is_over
        chunk = shared.since(at)
        if chunk is None:
            return
        if chunk:
            at = max(at, shared.count)
            clock.spoke()
            yield chunk
        if is_over or await clock.ran_out():
            if clock.is_over and clock.lease_ended:
                yield LEASE_ENDED
            return
        heard = bool(chunk) or await shared_stream.wait_for(news, clock.silence())
        if not heard and clock.wants_a_beat():
            clock.spoke()
            yield BEAT


class _Clock:
    """When the reader's next heartbeat, the end of its lease and the check of its rights are due."""

    def __init__(self, request: StreamRequest) -> None:
        self._request = request
        self._now = asyncio.get_running_loop().time
        self._last = self._looked = self._begun = self._now()
        self.is_over = False

    @property
    def lease_ended(self) -> bool:
        return self._request.leased and self._now() - self._begun >= LEASE

    def spoke(self) -> None:
        self._last = self._now()

    def wants_a_beat(self) -> bool:
        return self._now() - self._last >= HEARTBEAT

    def silence(self) -> float:
        """Return the seconds until the next of them is due."""
        due = [self._last + HEARTBEAT, self._looked + LOOK_AT_RIGHTS]
        if self._request.leased:
            due.append(self._begun + LEASE)
        return max(0.01, min(due) - self._now())

    async def ran_out(self) -> bool:
        """Tell whether the reader's time is up: its lease ended, or it may no longer read."""
        if self.lease_ended:
            self.is_over = True
        elif self._now() - self._looked >= LOOK_AT_RIGHTS:
            self._looked = self._now()
            request = self._request
            may = await in_database(service.may_still_read, request.key, request.about.session_id)
            self.is_over = not may
        return self.is_over
