"""Database work from the event loop, in threads, that outlives a PostgreSQL that is away."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import psycopg
from channels.db import DatabaseSyncToAsync
from django.db import InterfaceError, OperationalError, connections
from psycopg_pool import ConnectionPool

P = ParamSpec("P")
R = TypeVar("R")

#: What Django raises when PostgreSQL is away, restarts, or found a deadlock: worth another try.
LOST = (OperationalError, InterfaceError)
#: How long the database may be away before work is given up, in seconds.
PATIENCE = 60.0
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_throwing_away = threading.Lock()


async def in_database(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do database work in a thread; done again for up to a minute while PostgreSQL is away.

    Only for work that may be done twice: a commit may have gone through with its answer lost.
    """
    return await in_database_within(PATIENCE, work, *args, **kwargs)


async def in_database_within(
    patience: float, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """The same with a patience of so many seconds."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + patience
    while True:
        pool = pool_in_use()
        try:
            return await once_in_database(work, *args, **kwargs)
        except LOST:
            if loop.time() > give_up:
                raise
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wait_until_database_answers(pool), give_up - loop.time())


async def once_in_database(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do database work in a thread, once. Its connection goes back to the pool at the end."""
    in_thread: Any = DatabaseSyncToAsync(work, thread_sensitive=False)
    result: R = await in_thread(*args, **kwargs)
    return result


async def wait_until_database_answers(lost: ConnectionPool | None) -> None:
    """Wait until the database answers, then throw away the pool whose connections were lost.

    A pool looks for a database that was away at ever longer intervals, and would keep us waiting
    long after it is back.
    """
    pause = FIRST_PAUSE
    await asyncio.sleep(pause)
    while not await asyncio.to_thread(database_answers):
        pause = min(pause * 2, LONGEST_PAUSE)
        await asyncio.sleep(pause)
    if lost is not None:
        await asyncio.to_thread(_throw_away, lost)


def database_answers() -> bool:
    """Whether PostgreSQL takes a new connection now."""
    try:
        psycopg.connect(**connections["default"].get_connection_params()).close()
    except psycopg.Error:
        return False
    return True


def pool_in_use() -> ConnectionPool | None:
    """The pool there is now; None before the first connection."""
    return _pools().get("default")


def _pools() -> dict[str, ConnectionPool]:
    """Django's own pools, of every thread, by the names of their databases."""
    found: dict[str, ConnectionPool] = getattr(connections["default"], "_connection_pools", {})
    return found


def _throw_away(lost: ConnectionPool) -> None:
    """Put a new pool in the place of a lost one, once, however many have lost it.

    The place is never empty: Django looks twice, and another thread may be between the two.
    """
    another: Any = connections.create_connection("default")
    another._connection_pools = {}  # noqa: SLF001 -- as above; there is no door for it
    with _throwing_away:
        if pool_in_use() is not lost:
            return
        _pools()["default"] = another.pool
    lost.close()
