"""Run database work from the event loop, in threads, and retry it while PostgreSQL is away."""

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

#: What Django raises if PostgreSQL is away, restarts, or has found a deadlock. Worth a retry.
LOST = (OperationalError, InterfaceError)
#: How long to retry while the database is away, in seconds.
PATIENCE = 60.0
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_throwing_away = threading.Lock()


async def in_database(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do database work in a thread; retry it for up to a minute while PostgreSQL is away.

    Use it only for work that may be repeated: a commit may succeed although its reply is lost.
    """
    return await in_database_within(PATIENCE, work, *args, **kwargs)


async def in_database_within(
    patience: float, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Do database work in a thread; retry it for up to ``patience`` seconds."""
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
    """Do database work in a thread, without a retry, and return its connection to the pool."""
    in_thread: Any = DatabaseSyncToAsync(work, thread_sensitive=False)
    result: R = await in_thread(*args, **kwargs)
    return result


async def wait_until_database_answers(lost: ConnectionPool | None) -> None:
    """Wait until the database answers, then replace the pool whose connections were lost.

    A pool tries to reconnect at ever longer intervals, and would keep us waiting long after the
    database is back.
    """
    pause = FIRST_PAUSE
    await asyncio.sleep(pause)
    while not await asyncio.to_thread(database_answers):
        pause = min(pause * 2, LONGEST_PAUSE)
        await asyncio.sleep(pause)
    if lost is not None:
        await asyncio.to_thread(_replace_pool, lost)


def database_answers() -> bool:
    """Whether PostgreSQL accepts a new connection now."""
    try:
        psycopg.connect(**connections["default"].get_connection_params()).close()
    except psycopg.Error:
        return False
    return True


def pool_in_use() -> ConnectionPool | None:
    """Return the current pool; None before the first connection."""
    return _pools().get("default")


def _pools() -> dict[str, ConnectionPool]:
    """Return Django's own pools by database alias. All threads share them."""
    pools: dict[str, ConnectionPool] = getattr(connections["default"], "_connection_pools", {})
    return pools


def _replace_pool(lost: ConnectionPool) -> None:
    """Replace a lost pool by a new one. Do nothing if another thread has replaced it already.

    Never remove the lost pool first: Django checks for a pool and then fetches it, and another
    thread may be between these two steps.
    """
    another: Any = connections.create_connection("default")
    another._connection_pools = {}  # noqa: SLF001 -- Django has no public way to do this
    with _throwing_away:
        if pool_in_use() is not lost:
            return
        _pools()["default"] = another.pool
    lost.close()
