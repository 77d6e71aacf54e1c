"""The standard cast, and sockets that are closed when a test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from django.contrib.auth.models import User

from agents.models import Session
from tests.live import world
from tests.live.sockets import Socket
from workspace.live.hub import live_hub

Connect = Callable[..., Awaitable[Socket]]


@pytest.fixture
def owner(transactional_db: None) -> User:
    return world.person("olga")


@pytest.fixture
def colleague(transactional_db: None) -> User:
    return world.person("carl")


@pytest.fixture
def stranger(transactional_db: None) -> User:
    return world.person("sam")


@pytest.fixture
def session(owner: User, colleague: User) -> Session:
    """A session that two people own. Event 1 says that it was opened."""
    return world.session_of(owner, colleague)


@pytest.fixture
def login(owner: User) -> str:
    return world.login_of(owner)


@pytest.fixture
async def connect(transactional_db: None) -> AsyncIterator[Connect]:
    """Open a socket; all are closed at the end, and the hub of this loop with them."""
    opened: list[Socket] = []

    async def go(path: str, login: str = "", **headers: str) -> Socket:
        socket = Socket(path, login, headers)
        opened.append(socket)
        assert await socket.open()
        return socket

    yield go
    for socket in opened:
        await socket.leave()
    await live_hub().stop()
