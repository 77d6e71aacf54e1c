"""Hints may be lost: the LISTEN connection dies, a hint never leaves, a backup is restored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from agents.models import Session
from tests.live import world
from tests.live.conftest import Connect
from workspace.live import hub as hubs
from workspace.live import listener
from workspace.live.hub import live_hub

AHEAD, NO_ACCESS = 4409, 4401
say, say_silently = sync_to_async(world.say), sync_to_async(world.say_silently)
LISTENERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND query = 'LISTEN "needs_you"'
"""


OTHERS: set[int] = set()


@sync_to_async
def listeners() -> list[int]:
    """The backends that listen, in this database."""
    with connection.cursor() as cursor:
        cursor.execute(LISTENERS)
        return [row[0] for row in cursor.fetchall() if row[0] not in OTHERS]


@pytest.fixture(autouse=True)
def _others(session: Session) -> Iterator[None]:
    """A stream that another test of this process left open listens too, and is not looked at."""
    with connection.cursor() as cursor:
        cursor.execute(LISTENERS)
        OTHERS.update(row[0] for row in cursor.fetchall())
    yield
    OTHERS.clear()


@sync_to_async
def terminate(backend: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])


async def until_listening(*, other_than: int = 0) -> int:
    """The one backend that listens for this process, once it does."""
    while True:
        found = [backend for backend in await listeners() if backend != other_than]
        if found:
            assert len(found) == 1
            return found[0]
        await asyncio.sleep(0.02)


@pytest.fixture
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not look by the clock while a test lasts: only listening again makes up for anything."""
    monkeypatch.setattr(listener, "SAFETY", 1000.0)
    monkeypatch.setattr(hubs, "REVALIDATE", 1000.0)


@pytest.mark.usefixtures("rarely")
@pytest.mark.case("C99")
async def test_the_listen_connection_dies_and_no_event_is_missed(
    connect: Connect, session: Session, login: str, caplog: pytest.LogCaptureFixture
) -> None:
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    backend = await until_listening()
    with caplog.at_level(logging.WARNING):
        await terminate(backend)
        await say(session, "while nobody listens")
        assert await socket.events(2) == [2]
        assert await until_listening(other_than=backend)
    await say(session, "and afterwards")
    assert await socket.events(3) == [3]
    assert any("LISTEN" in record.message for record in caplog.records)


@pytest.mark.usefixtures("rarely")
async def test_a_sign_out_while_nobody_listens_is_found_on_listening_again(
    connect: Connect, session: Session, login: str
) -> None:
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    backend = await until_listening()

    @sync_to_async
    def sign_out_unheard() -> None:
        world.client_of(login).session.flush()

    await sign_out_unheard()
    await terminate(backend)
    assert await socket.close_code() == NO_ACCESS


async def test_one_listen_connection_for_any_number_of_sockets(
    connect: Connect, session: Session, login: str
) -> None:
    for _ in range(4):
        await connect(f"/ws/sessions/{session.pk}/?after=1", login)
        await connect("/ws/queue/", login)
    await until_listening()
    assert len(await listeners()) == 1


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the database all the time, with or without a hint."""
    monkeypatch.setattr(listener, "SAFETY", 0.1)


@pytest.mark.usefixtures("soon")
async def test_an_event_whose_hint_was_lost_arrives_all_the_same(
    connect: Connect, session: Session, login: str
) -> None:
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    await until_listening()
    await say_silently(session, "two")
    assert await socket.events(2) == [2]


@pytest.mark.usefixtures("soon")
async def test_a_restored_backup_has_the_page_loaded_again(
    connect: Connect, session: Session, login: str
) -> None:
    await say(session, "two", "three")
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    await socket.events(3)
    await sync_to_async(Session.objects.filter(pk=session.pk).update)(last_seq=2)
    assert await socket.close_code() == AHEAD


async def test_a_hint_of_a_newer_version_is_passed_over(
    connect: Connect, session: Session, login: str
) -> None:
    socket = await connect(f"/ws/sessions/{session.pk}/?after=1", login)
    for payload in ("", "z:1", "s:", "s:x:y", "s:1", "q:", "r:none", "x:", "listening:1"):
        await live_hub()._hear_safely(payload)
    await say(session, "two")
    assert await socket.events(2) == [2]
