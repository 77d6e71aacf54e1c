"""Read server-sent events with httpx-sse, with a limit on the size of an event."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx
from httpx_sse import EventSource, ServerSentEvent

#: The largest event, in bytes.
LARGEST = 8 * 1024 * 1024
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r){2}")
#: A blank line that two chunks share is found if this many bytes of the first are kept.
_OVERLAP = 3
#: utf-8-sig drops a byte order mark.
_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8-sig"}


class TooLarge(Exception):
    """An event exceeds the limit."""


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the events that have data. Raises TooLarge, and what ``chunks`` raises."""
    limited = httpx.Response(200, headers=_HEADERS, content=_limit_events(chunks))
    async with aclosing(EventSource(limited).aiter_sse()) as events:
        async for event in events:
            if event.data:
                yield event


async def _limit_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Pass the chunks on, and count the bytes since the last blank line. Raises TooLarge."""
    size, tail = 0, b""
    async for chunk in chunks:
        first, *others = _BLANK_LINE.split(tail + chunk)
        sizes = [size - len(tail) + len(first), *map(len, others)]
        if max(sizes) > LARGEST:
            raise TooLarge
        size, tail = sizes[-1], (others[-1] if others else first)[-_OVERLAP:]
        yield chunk
