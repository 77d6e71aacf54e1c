"""Who may listen, and until when."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as Login
from django.utils import timezone

from agents.models import Session
from tests.live import world
from tests.live.conftest import Connect
from tests.live.sockets import PATIENCE, Socket
from workspace.live import access_checks
from workspace.live import hub as hubs
from workspace.live.hub import live_hub

NO_ACCESS, BAD_CURSOR, AHEAD, NO_SUCH_STREAM, TOO_BIG = 4401, 4400, 4409, 4404, 4413
login_of, say = sync_to_async(world.login_of), sync_to_async(world.say)


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 -- what is waited for sets no event
            await asyncio.sleep(0.01)


def stream(session: Session, after: object = 1) -> str:
    return f"/ws/sessions/{session.pk}/?after={after}"


async def test_every_owner_listens_and_a_stranger_does_not(
    connect: Connect, session: Session, owner: User, colleague: User, stranger: User
) -> None:
    theirs = [await connect(stream(session), await login_of(each)) for each in (owner, colleague)]
    refused = await connect(stream(session), await login_of(stranger))
    assert await refused.close_code() == NO_ACCESS
    await say(session, "two")
    for socket in theirs:
        assert await socket.events(2) == [2]


async def test_a_session_that_does_not_exist_is_refused_as_somebody_elses(
    connect: Connect, session: Session, login: str
) -> None:
    refused = await connect(f"/ws/sessions/{session.pk + 99}/?after=0", login)
    assert await refused.close_code() == NO_ACCESS


@pytest.mark.parametrize("login", ["", "nobody-has-this-key", "\u00e4"])
async def test_without_a_login_nothing_is_heard(
    connect: Connect, session: Session, login: str
) -> None:
    for path in (stream(session), "/ws/queue/", "/ws/badge/"):
        assert await (await connect(path, login)).close_code() == NO_ACCESS


async def test_somebody_who_owns_no_agent_has_a_queue_of_their_own(
    connect: Connect, session: Session, stranger: User
) -> None:
    socket = await connect("/ws/queue/", await login_of(stranger))
    await say(session, "two")
    assert await socket.is_silent()


@pytest.mark.parametrize("cursor", ["-1", "x", "1.5", "%F0%9F%99%82", "9" * 40, "1%00", "%D9%A3"])
async def test_a_cursor_that_is_no_number(
    connect: Connect, session: Session, login: str, cursor: str
) -> None:
    assert await (await connect(stream(session, cursor), login)).close_code() == BAD_CURSOR


async def test_a_cursor_ahead_of_the_database(
    connect: Connect, session: Session, login: str
) -> None:
    assert await (await connect(stream(session, 2), login)).close_code() == AHEAD


@pytest.mark.parametrize(
    "path",
    ["/", "/ws/", "/ws/sessions/x/", "/ws/sessions/1/more/", "/ws/sessions/" + "1" * 30 + "/"],
)
async def test_any_other_address_is_closed_politely(connect: Connect, path: str) -> None:
    assert await (await connect(path)).close_code() == NO_SUCH_STREAM


async def test_what_a_browser_says_is_not_read(
    connect: Connect, session: Session, login: str
) -> None:
    socket = await connect(stream(session), login)
    await socket.say("hello")
    await say(session, "two")
    assert await socket.events(2) == [2]
    await socket.say("x" * 2_000)
    assert await socket.close_code() == TOO_BIG


@pytest.fixture
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not look by the clock while a test lasts: only a hint closes anything."""
    monkeypatch.setattr(hubs, "REVALIDATE", 1000.0)


@pytest.mark.usefixtures("rarely")
async def test_signing_out_closes_every_socket_of_that_login_and_no_other(
    connect: Connect, session: Session, owner: User, login: str
) -> None:
    other = await connect(stream(session), await login_of(owner))
    watched = (stream(session), "/ws/queue/", "/ws/badge/")
    mine = [await connect(path, login) for path in watched]
    response = await sync_to_async(world.client_of(login).post)("/logout")
    assert response.status_code == 302
    for socket in mine:
        assert await socket.close_code() == NO_ACCESS
    await say(session, "two")
    assert await other.events(2) == [2]


@pytest.mark.usefixtures("rarely")
async def test_losing_ownership_closes_at_once(
    connect: Connect, session: Session, colleague: User, login: str
) -> None:
    lost = await connect(stream(session), await login_of(colleague))
    kept = await connect(stream(session), login)
    await sync_to_async(session.agent.owners.remove)(colleague)
    assert await lost.close_code() == NO_ACCESS
    await say(session, "two")
    assert await kept.events(2) == [2]


@pytest.mark.usefixtures("rarely")
@pytest.mark.parametrize("how", ["clear", "set", "agents"])
async def test_every_way_to_lose_ownership(
    connect: Connect, session: Session, owner: User, colleague: User, login: str, how: str
) -> None:
    lost = await connect(stream(session), login)
    ways = {
        "clear": session.agent.owners.clear,
        "set": lambda: session.agent.owners.set([colleague]),
        "agents": owner.agents.clear,
    }
    await sync_to_async(ways[how])()
    assert await lost.close_code() == NO_ACCESS


@pytest.mark.usefixtures("rarely")
@pytest.mark.parametrize("how", ["deactivated", "new password", "deleted"])
async def test_an_account_that_ends_ends_its_sockets(
    connect: Connect, session: Session, colleague: User, how: str
) -> None:
    sockets = [
        await connect(path, await login_of(colleague))
        for path in (stream(session), "/ws/queue/", "/ws/badge/")
    ]

    @sync_to_async
    def change() -> None:
        if how == "deleted":
            colleague.delete()
            return
        if how == "deactivated":
            colleague.is_active = False
        else:
            colleague.set_password("something else entirely")
        colleague.save()

    await change()
    for socket in sockets:
        assert await socket.close_code() == NO_ACCESS


@pytest.mark.usefixtures("rarely")
async def test_an_account_that_ends_while_a_socket_opens_ends_it_too(
    connect: Connect, session: Session, colleague: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket has read that the login is good, and hears no hints about it yet."""
    first = await connect("/ws/badge/", await login_of(colleague))
    await until(lambda: all(watcher.person for watcher in live_hub().watchers))
    read, go_on, people = threading.Event(), threading.Event(), access_checks.people_by_login
    opening = await login_of(colleague)

    def slowly(keys: Collection[str]) -> dict[str, User]:
        found = people(keys)
        if opening in keys and not read.is_set():
            read.set()
            assert go_on.wait(PATIENCE)
        return found

    monkeypatch.setattr(access_checks, "people_by_login", slowly)
    second = await connect(stream(session), opening)
    await until(read.is_set)
    colleague.set_password("something else entirely")
    await sync_to_async(colleague.save)()
    assert await first.close_code() == NO_ACCESS
    go_on.set()
    assert await second.close_code() == NO_ACCESS


async def test_signing_in_elsewhere_closes_nothing(
    connect: Connect, session: Session, owner: User, login: str
) -> None:
    socket = await connect(stream(session), login)
    await login_of(owner)
    assert await socket.is_silent()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at logins and rights all the time."""
    monkeypatch.setattr(hubs, "REVALIDATE", 0.1)


@pytest.mark.usefixtures("often")
async def test_a_login_that_expires_is_noticed_without_a_signal(
    connect: Connect, session: Session, login: str
) -> None:
    socket = await connect(stream(session), login)
    late = timezone.now() - timedelta(seconds=1)
    await sync_to_async(Login.objects.filter(session_key=login).update)(expire_date=late)
    assert await socket.close_code() == NO_ACCESS


@pytest.mark.usefixtures("often")
async def test_rights_that_go_without_a_signal_are_noticed(
    connect: Connect, session: Session, colleague: User, login: str
) -> None:
    lost, kept = (
        await connect(stream(session), await login_of(colleague)),
        await connect(stream(session), login),
    )
    through = session.agent.owners.through.objects.filter(user=colleague)
    await sync_to_async(through._raw_delete)(through.db)
    assert await lost.close_code() == NO_ACCESS
    assert await kept.is_silent()


async def test_a_look_at_everything_costs_the_same_for_one_socket_and_for_many(
    connect: Connect, session: Session, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[str]] = []
    real = access_checks.people_by_login

    def noted(keys: Iterable[str]) -> dict[str, User]:
        asked.append(set(keys))
        return real(keys)

    monkeypatch.setattr(access_checks, "people_by_login", noted)
    sockets = [await connect(stream(session), login) for _ in range(5)]
    await say(session, "two")
    for socket in sockets:
        await socket.events(2)
    await live_hub().stop()  # its own looks would be counted too
    asked.clear()
    await live_hub()._revalidate(live_hub().watchers)
    assert asked == [{login}]


@pytest.mark.parametrize(
    ("host", "origin", "welcome"),
    [
        ("localhost", "http://localhost", True),
        ("localhost:8000", "http://localhost:8000", True),
        ("LocalHost:80", "http://localhost", True),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("localhost:8000", "http://localhost:9000", False),
        ("localhost", "http://127.0.0.1", False),
        ("localhost", "https://evil.example", False),
        ("localhost", "http://localhost.evil.example", False),
        ("localhost", "", False),
        ("localhost", "null", False),
        ("localhost", "file://", False),
        ("localhost", "http://localhost:port", False),
        ("evil.example", "http://evil.example", False),
        ("", "http://", False),
    ],
)
@pytest.mark.django_db(transaction=True)
async def test_only_our_own_pages_open_sockets(host: str, origin: str, *, welcome: bool) -> None:
    socket = Socket("/ws/queue/", "", {"host": host, "origin": origin})
    assert await socket.open() is welcome
    await socket.leave()
