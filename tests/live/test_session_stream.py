"""A session's socket: every event above the cursor, once, in order, and then as they come."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async

from agents.events import notify
from agents.models import Event, Session
from tests.live import world
from tests.live.conftest import Connect
from workspace.live import consumers, event_buffer
from workspace.live.hub import live_hub
from workspace.pages import fragments

say, say_each = sync_to_async(world.say), sync_to_async(world.say_each)


def noted_renderings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which the number of every event is added when it is rendered."""
    rendered: list[int] = []
    real = fragments.event_html

    def noted(event: Event) -> str:
        rendered.append(event.seq)
        return real(event)

    monkeypatch.setattr(fragments, "event_html", noted)
    return rendered


async def test_what_came_before_and_what_comes_after(
    connect: Connect, session: Session, login: str
) -> None:
    await say(session, "two", "three")
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    assert await socket.events(3) == [2, 3]
    await say(session, "four")
    message = await socket.message()
    assert world.seqs(message) == [4]
    assert message.startswith('<ol id="stream" hx-swap-oob="beforeend">')
    assert "four" in message


async def test_without_a_cursor_it_begins_at_the_beginning(
    connect: Connect, session: Session, login: str
) -> None:
    await say(session, "two")
    socket = await connect(f"/ws/sessions/{session.pk}/", login)
    assert await socket.events(2) == [1, 2]


async def test_a_message_is_what_polling_gets(
    connect: Connect, session: Session, login: str
) -> None:
    await say(session, "one <b>& two")
    socket = await connect(f"/ws/sessions/{session.pk}/?after=0", login)
    sent = await socket.message()

    @sync_to_async
    def polled() -> str:
        return fragments.events_html(session.events.select_related("run").order_by("seq"))

    assert sent == await polled()


async def test_more_than_one_message_holds(connect: Connect, session: Session, login: str) -> None:
    count = event_buffer.BATCH * 2 + 7
    await say(session, *(f"line {number}" for number in range(count)))
    socket = await connect(f"/ws/sessions/{session.pk}/?after=0", login)
    assert await socket.events(count + 1) == list(range(1, count + 2))


async def test_long_events_are_spread_over_messages(
    connect: Connect, session: Session, login: str
) -> None:
    await say(session, *("x" * 100_000 for _ in range(5)))
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    first = await socket.message()
    assert world.seqs(first) == [2, 3]
    assert await socket.events(6) == [4, 5, 6]


async def test_a_cursor_far_behind_what_is_kept(
    connect: Connect, session: Session, login: str
) -> None:
    ahead = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    count = event_buffer.KEPT + 50
    await say(session, *(f"line {number}" for number in range(count)))
    await ahead.events(count + 1)
    behind = await connect(f"/ws/sessions/{session.pk}/?after=0", login)
    assert await behind.events(count + 1) == list(range(1, count + 2))


async def test_many_watchers_cost_one_reading_of_each_event(
    connect: Connect, session: Session, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = noted_renderings(monkeypatch)
    sockets = [await connect(f"/ws/sessions/{session.pk}/?after=1", login) for _ in range(8)]
    await say_each(session, [f"line {number}" for number in range(10)])
    for socket in sockets:
        assert await socket.events(11) == list(range(2, 12))
    assert rendered == list(range(2, 12))


async def test_watchers_that_come_back_together_share_what_they_missed(
    connect: Connect, session: Session, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(session, *(f"line {number}" for number in range(30)))
    rendered = noted_renderings(monkeypatch)
    for _ in range(5):
        socket = await connect(f"/ws/sessions/{session.pk}/?after=20", login)
        assert await socket.events(31) == list(range(21, 32))
    assert rendered == list(range(21, 32))


async def test_being_told_of_known_events_reads_nothing(
    connect: Connect, session: Session, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    await socket.events(await say(session, "two"))
    read: list[int] = []

    def nothing_after(_session_id: int, cursor: int) -> list[Event]:
        read.append(cursor)
        return []

    monkeypatch.setattr(event_buffer, "events_after", nothing_after)
    await sync_to_async(notify.notify_session_changed)(session.pk, 2)
    assert await socket.is_silent()
    assert read == []
    await sync_to_async(notify.notify_session_changed)(session.pk, 3)
    assert await socket.is_silent()
    assert read == [2]


async def test_silence_is_broken_by_a_heartbeat(
    connect: Connect, session: Session, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT", 0.1)
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    assert await socket.message() == fragments.HEARTBEAT


async def test_being_woken_for_nothing_does_not_put_the_heartbeat_off(
    connect: Connect, session: Session, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT", 0.3)
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)

    async def wake_for_nothing() -> None:
        while True:
            for watcher in live_hub().watchers:
                watcher.wake()
            await asyncio.sleep(0.05)

    waking = asyncio.create_task(wake_for_nothing())
    assert await socket.message() == fragments.HEARTBEAT
    waking.cancel()


async def test_nothing_is_kept_of_a_session_that_nobody_watches(
    connect: Connect, session: Session, login: str
) -> None:
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    await say(session, "two")
    await socket.events(2)
    assert list(live_hub().tails) == [session.pk]
    await socket.leave()
    assert live_hub().tails == {}
    assert live_hub().watchers == set()
    assert dict(live_hub()._followers) == {}


async def test_the_first_read_misses_nothing_that_happens_while_it_connects(
    connect: Connect, session: Session, login: str
) -> None:
    writing = asyncio.create_task(say_each(session, [f"line {n}" for n in range(60)]))
    sockets = []
    while not writing.done():
        sockets.append(await connect(f"/ws/sessions/{session.pk}/?after=1", login))
    await writing
    assert sockets
    for socket in sockets:
        assert await socket.events(61) == list(range(2, 62))
