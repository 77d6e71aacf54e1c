"""Follow the stored events of a response, and send them as server-sent events as they appear."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agents.db.retrying import in_database
from workspace.live.hub import live_hub
from workspace.live.subscriber import Subscriber
from workspace.protocols.responses import wire
from workspace.protocols.responses.models import Response, ResponseEvent
from workspace.protocols.responses.server.events import TERMINAL
from workspace.protocols.responses.server.outcomes import present_body

#: Seconds of silence after which a comment keeps the connection alive.
KEEP_ALIVE = float(os.environ.get("RESPONSES_KEEP_ALIVE_SECONDS", "10"))
#: The last line of every stream that is over.
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE_COMMENT = b": keep-alive\n\n"
#: Events per read.
BATCH = 500
#: Seconds that a call without a stream waits for its run. This does not limit the run.
LONGEST_CALL = 1800.0


@dataclass(frozen=True)
class StreamRead:
    """The next frames of a stream, the number of their last event, and whether the stream is over."""

    frames: bytes
    last: int
    is_over: bool


async def stream_frames(pk: int, session_id: int, after: int) -> AsyncGenerator[bytes, None]:
    """Yield the frames after an event's number, until the terminal event."""
    async with _reasons_to_look(session_id) as watcher:
        while True:
            found = await in_database(_read, pk, after)
            after = found.last
            if found.frames:
                yield found.frames
            if found.is_over:
                yield DONE
                return
            if not found.frames and not await watcher.woken(KEEP_ALIVE):
                yield KEEP_ALIVE_COMMENT


async def wait_for_whole(pk: int, session_id: int) -> AsyncGenerator[bytes, None]:
    """Yield the response as JSON once it has ended. Until then, a space keeps the connection alive."""
    deadline = asyncio.get_running_loop().time() + LONGEST_CALL
    async with _reasons_to_look(session_id) as watcher:
        while True:
            late = asyncio.get_running_loop().time() > deadline
            body = await in_database(_body, pk, as_it_stands=late)
            if body or late:
                break
            if not await watcher.woken(KEEP_ALIVE):
                yield b" "
    yield body


@asynccontextmanager
async def _reasons_to_look(session_id: int) -> AsyncIterator[Subscriber]:
    """Subscribe to a session before the first read, so that no event is missed."""
    watcher = Subscriber("", session_id)
    live_hub().overhear(watcher, f"s:{session_id}")
    try:
        yield watcher
    finally:
        live_hub().leave(watcher)


def _read(pk: int, after: int) -> StreamRead:
    rows = ResponseEvent.objects.filter(response=pk, seq__gt=after).order_by("seq")
    found = list(rows.values_list("seq", "type", "data")[:BATCH])
    sent = "".join(f"event: {kind}\ndata: {data}\n\n" for _, kind, data in found)
    last = found[-1][0] if found else after
    over = found[-1][1] in TERMINAL if found else _nothing_comes_after(pk, after)
    return StreamRead(sent.encode(), last, over)


def _body(pk: int, *, as_it_stands: bool) -> bytes:
    """Return the response as JSON if it has ended or ``as_it_stands``; otherwise nothing."""
    found = Response.objects.all() if as_it_stands else Response.objects.exclude(ended_at=None)
    response = found.filter(pk=pk).first()
    return wire.compact_json(present_body(response)).encode() if response else b""


def _nothing_comes_after(pk: int, seq: int) -> bool:
    """Tell whether a stream without newer events is over. A deleted response's stream is over."""
    response = Response.objects.filter(pk=pk).first()
    if response is None or response.deleted_at is not None:
        return True
    return not response.is_under_way and seq >= response.next_seq - 1
