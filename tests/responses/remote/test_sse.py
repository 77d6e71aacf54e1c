"""Server-sent events come whole however their bytes come, and none is larger than the limit."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from workspace.protocols.responses.client import sse
from workspace.protocols.responses.client.sse import TooLarge, read_events

STREAM = (
    "\ufeffevent: a\r\ndata: é\r\ndata: 2\r\n\r\n: a comment\n\nid: 7\ndata:3\n\n\n\r\r"
    "event: b\rdata: 4\r\rdata: half"
).encode()


async def in_chunks(raw: bytes, size: int) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


async def events_of(raw: bytes, size: int) -> list[tuple[str, str]]:
    return [(event.event, event.data) async for event in read_events(in_chunks(raw, size))]


@pytest.mark.parametrize("size", [*range(1, 12), 1000])
async def test_events_come_whole_however_their_bytes_come(size: int) -> None:
    assert await events_of(STREAM, size) == [("a", "é\n2"), ("message", "3"), ("b", "4")]


@pytest.mark.parametrize("end", [b"", b"\n\n", b"\n\r\n", b"\r\r"])
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_an_event_that_is_too_large_is_rejected_whole_or_half(
    monkeypatch: pytest.MonkeyPatch, size: int, end: bytes
) -> None:
    monkeypatch.setattr(sse, "LARGEST", 40)
    for large in (b"data: " + b"x" * 35, b"data: x\n" * 6):
        with pytest.raises(TooLarge):
            await events_of(b"data: 1\n\n" + large + end, size)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1000])
async def test_many_small_events_are_not_too_large(
    monkeypatch: pytest.MonkeyPatch, size: int, end: bytes
) -> None:
    monkeypatch.setattr(sse, "LARGEST", 40)
    assert len(await events_of((b"data: 12345678" + end) * 20, size)) == 20
