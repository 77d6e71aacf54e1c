"""What readers of one session share: no line twice, none left out, whoever is how far."""

from __future__ import annotations

import asyncio

from asgiref.sync import async_to_sync

from workspace.protocols.eve.server import shared_stream
from workspace.protocols.eve.server.log_events import About
from workspace.protocols.eve.server.shared_stream import SharedStream

ABOUT = About("wrun_1", "eve:token", "billing")


def shared_with(*lines: bytes) -> SharedStream:
    made = SharedStream(1, ABOUT)
    made._cursor.count += len(lines)
    made.publish(list(lines))
    return made


def test_what_was_read_and_not_told_is_not_there_yet() -> None:
    """Threads move the cursor ahead of the lines that readers see."""

    async def look() -> None:
        shared = shared_with(b"a\n", b"b\n")
        shared._cursor.count += 1
        assert shared.since(1) == b"b\n"
        assert shared.since(2) == b""
        shared.publish([b"c\n"])
        assert shared.since(2) == b"c\n"

    async_to_sync(look)()


def test_who_is_ahead_waits_and_who_is_too_far_behind_reads_the_log() -> None:
    async def look() -> None:
        lines = [f"{number}\n".encode() for number in range(shared_stream.KEPT + 10)]
        shared = shared_with(*lines)
        assert shared.first == 10
        assert shared.since(9) is None
        assert shared.since(10) == b"".join(lines[10:])
        assert shared.since(shared_stream.KEPT + 10) == b""
        assert shared.since(10**9) == b""

    async_to_sync(look)()


def test_news_wakes_everybody_once() -> None:
    async def look() -> None:
        shared = shared_with(b"a\n")
        news = [shared.news() for _ in range(3)]
        assert not await shared_stream.wait_for(news[0], 0)
        shared._cursor.count += 1
        shared.publish([b"b\n"])
        assert all([await shared_stream.wait_for(each, 1) for each in news])
        assert not shared.news().is_set()

    async_to_sync(look)()


def test_nothing_is_kept_of_a_session_that_nobody_follows() -> None:
    async def look() -> None:
        loop = asyncio.get_running_loop()
        async with (
            shared_stream.shared_stream(1, ABOUT) as one,
            shared_stream.shared_stream(1, ABOUT) as other,
        ):
            assert one is other
            assert shared_stream._shared[loop] == {1: one}
        assert shared_stream._shared[loop] == {}
        await asyncio.sleep(0)

    async_to_sync(look)()
