"""Read many streams in one process, and measure how long an event takes to reach the last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

PATIENCE = 60.0


class Readers:
    """Open streams that count how often they receive a mark. Made by ``following``."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._counts: list[int] = []
        self._moved = asyncio.Event()
        self._last = 0.0

    async def arrival(self, cause: Callable[[], float]) -> float:
        """Return the milliseconds from the time that ``cause`` returns until all have the mark."""
        expected = [count + 1 for count in self._counts]
        began = await asyncio.to_thread(cause)
        async with asyncio.timeout(PATIENCE):
            while any(count < want for count, want in zip(self._counts, expected, strict=True)):
                self._moved.clear()
                await self._moved.wait()
        return (self._last - began) * 1000

    async def settle(self, seconds: float) -> None:
        """Wait until everything that was sent is read."""
        await asyncio.sleep(seconds)

    async def read(self, reader: asyncio.StreamReader, place: int) -> None:
        while data := await reader.read(65536):
            if marks := data.count(self._mark):
                self._counts[place] += marks
                self._last = time.time()
                self._moved.set()

    def add(self) -> int:
        self._counts.append(0)
        return len(self._counts) - 1


@asynccontextmanager
async def following(
    url: str, mark: bytes, count: int, headers: dict[str, str] | None = None
) -> AsyncIterator[Readers]:
    """Open a number of readers of a URL; each has received its first byte."""
    place = urlsplit(url)
    readers = Readers(mark)
    tasks, writers = [], []
    lines = [f"GET {place.path}?{place.query} HTTP/1.1", f"Host: {place.netloc}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    request = "\r\n".join([*lines, "", ""]).encode()
    for _ in range(count):
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(request)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        if b" 200 " not in head[:20]:
            raise RuntimeError(head.decode(errors="replace"))
        writers.append(writer)
        tasks.append(asyncio.create_task(readers.read(reader, readers.add())))
    try:
        yield readers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.close()
