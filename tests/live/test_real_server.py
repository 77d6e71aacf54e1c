"""The live streams of a real web process: drops, deaths, slow readers, foreign pages."""

from __future__ import annotations

import asyncio
import http.client
import signal
import socket as sockets
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.db import connection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agents.models import Session
from tests.live import world
from tests.live.followers import Follower, close_code, opened
from tests.live.sockets import PATIENCE
from tests.live_server import LiveServer

NO_ACCESS, AHEAD, NO_SUCH_STREAM, TOO_BIG = 4401, 4409, 4404, 1009
TERMINATE_LISTENERS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND query = 'LISTEN "needs_you"'
"""
TERMINATE_OTHERS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'web'
"""


@pytest.fixture(scope="module")
def server(
    django_db_setup: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveServer]:
    """The web process on this pytest process's database."""
    live = LiveServer(tmp_path_factory.mktemp("web") / "web.log", {"PGAPPNAME": "web"})
    live.start()
    yield live
    live.stop()


@pytest.fixture(autouse=True)
def _server_is_back(server: LiveServer, transactional_db: None) -> Iterator[None]:
    """A test that ended the server and failed must not fail the rest."""
    yield
    if not server.is_running():
        server.start()


async def write(session: Session, count: int, *, every: float = 0.0, size: int = 10) -> None:
    """Write events one transaction each, in a thread of its own."""
    for number in range(count):
        text = f"{number} ".ljust(size, "x")
        await world.in_thread(world.say, session, text)
        await asyncio.sleep(every)


def run_sql(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])


async def terminate(statement: str) -> None:
    """End database connections, as soon as there are some."""
    async with asyncio.timeout(60):
        while not await world.in_thread(run_sql, statement):  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.05)


@pytest.mark.case("C98", "C99")
async def test_twenty_that_drop_at_random_while_the_server_dies_twice(
    server: LiveServer, session: Session, login: str
) -> None:
    count = 200
    followers = [Follower(server, session.pk, login, cursor=1) for _ in range(20)]
    following = asyncio.gather(*(each.until(count + 1, drops=0.1) for each in followers))
    writing = asyncio.create_task(write(session, count, every=0.02))
    for how in (signal.SIGKILL, signal.SIGTERM):
        await asyncio.sleep(1.0)
        await asyncio.to_thread(server.stop, how)
        await asyncio.to_thread(server.start)
    await writing
    async with asyncio.timeout(120):
        seen = await following
    assert seen == [list(range(2, count + 2))] * 20
    assert all(each.connections > 1 for each in followers)


async def test_the_listen_connection_is_ended_and_the_socket_stays(
    server: LiveServer, session: Session, login: str
) -> None:
    follower = Follower(server, session.pk, login, cursor=1)
    following = asyncio.create_task(follower.until(11))
    await write(session, 3)
    await terminate(TERMINATE_LISTENERS)
    await write(session, 7)
    async with asyncio.timeout(PATIENCE):
        assert await following == list(range(2, 12))
    assert follower.connections == 1


async def test_every_database_connection_is_ended_in_mid_stream(
    server: LiveServer, session: Session, login: str
) -> None:
    followers = [Follower(server, session.pk, login, cursor=1) for _ in range(3)]
    following = asyncio.gather(*(each.until(41) for each in followers))
    writing = asyncio.create_task(write(session, 40, every=0.02))
    for _ in range(3):
        await asyncio.sleep(0.2)
        await terminate(TERMINATE_OTHERS)
    await writing
    async with asyncio.timeout(60):
        assert await following == [list(range(2, 42))] * 3


@pytest.mark.case("C99")
async def test_one_that_does_not_read_holds_nobody_up(
    server: LiveServer, session: Session, login: str
) -> None:
    with sockets.socket() as deaf:
        deaf.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(_handshake(server, session, login))
        follower = Follower(server, session.pk, login, cursor=1)
        following = asyncio.create_task(follower.until(51))
        # More than the kernel keeps for one that does not read.
        await write(session, 50, size=150_000)
        async with asyncio.timeout(60):
            assert await following == list(range(2, 52))
        assert deaf.recv(12) == b"HTTP/1.1 101"


def _handshake(server: LiveServer, session: Session, login: str) -> bytes:
    lines = [
        f"GET /ws/sessions/{session.pk}/?after=1 HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Origin: {server.url}",
        f"Cookie: sessionid={login}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def test_signing_out_closes_the_socket(
    server: LiveServer, session: Session, login: str, owner: User
) -> None:
    other = await world.in_thread(world.login_of, owner)
    path = f"/ws/sessions/{session.pk}/?after=1"
    async with opened(server, path, login) as ended, opened(server, path, other) as kept:
        assert await asyncio.to_thread(_sign_out, server, login) == 302
        assert await close_code(ended) == NO_ACCESS
        await write(session, 1)
        assert world.seqs(str(await kept.recv())) == [2]


async def test_sockets_are_counted(server: LiveServer, session: Session, login: str) -> None:
    async with opened(server, "/ws/queue/", login) as first:
        async with opened(server, f"/ws/sessions/{session.pk}/?after=0", login) as second:
            assert world.seqs(str(await second.recv())) == [1]
            assert await asyncio.to_thread(_sockets, server) == 2
        await first.ping()
        while await asyncio.to_thread(_sockets, server) != 1:  # noqa: ASYNC110 -- leaving takes a moment
            await asyncio.sleep(0.05)


def _sockets(server: LiveServer) -> int:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    line.request("GET", "/metrics")
    text = line.getresponse().read().decode()
    line.close()
    return int(float(text.rpartition("needs_you_websockets ")[2]))


def _sign_out(server: LiveServer, login: str) -> int:
    """As the browser does it: a form with a token, posted to the server."""
    token = "a" * 32
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {
        "Cookie": f"sessionid={login}; csrftoken={token}",
        "X-CSRFToken": token,
        "Origin": server.url,
    }
    line.request("POST", "/logout", headers=headers)
    status = line.getresponse().status
    line.close()
    return status


async def test_lost_ownership_closes_the_socket(
    server: LiveServer, session: Session, colleague: User
) -> None:
    login = await world.in_thread(world.login_of, colleague)
    async with opened(server, f"/ws/sessions/{session.pk}/?after=1", login) as socket:
        await write(session, 1)
        assert world.seqs(str(await socket.recv())) == [2]
        await world.in_thread(session.agent.owners.remove, colleague)
        assert await close_code(socket) == NO_ACCESS


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", None])
async def test_foreign_pages_are_refused_at_the_door(
    server: LiveServer, session: Session, login: str, origin: str | None
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await opened(server, f"/ws/sessions/{session.pk}/?after=1", login, origin)
    assert refused.value.response.status_code == 403


async def test_closes_reach_a_browser_with_their_codes(
    server: LiveServer, session: Session, login: str, stranger: User
) -> None:
    theirs = await world.in_thread(world.login_of, stranger)
    mine = f"/ws/sessions/{session.pk}/"
    for path, key, code in [
        (mine, "", NO_ACCESS),
        (mine, theirs, NO_ACCESS),
        (f"/ws/sessions/{session.pk + 99}/", login, NO_ACCESS),
        (f"{mine}?after=99", login, AHEAD),
        ("/ws/nothing/here/", login, NO_SUCH_STREAM),
    ]:
        async with opened(server, path, key) as socket:
            assert await close_code(socket) == code


async def test_a_huge_message_ends_the_socket_that_sent_it(
    server: LiveServer, session: Session, login: str
) -> None:
    path = f"/ws/sessions/{session.pk}/?after=1"
    async with opened(server, path, login) as loud, opened(server, path, login) as calm:
        with suppress(ConnectionClosed):  # it may be closed before all of it is sent
            await loud.send("x" * 3_000_000)
        assert await close_code(loud) in {TOO_BIG, 1006}
        await write(session, 1)
        assert world.seqs(str(await calm.recv())) == [2]
