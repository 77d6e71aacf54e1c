"""Code that loses its connections to PostgreSQL gets new ones, even if many threads lose them."""

from __future__ import annotations

import asyncio

import pytest
from django.db import connection, connections

from agents.db.retrying import in_database, pool_in_use, wait_until_database_answers

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 8


def _one() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return int(cursor.fetchone()[0])


async def test_a_lost_pool_is_thrown_away_once_by_all_who_lost_it() -> None:
    for _ in range(5):
        assert await in_database(_one) == 1
        lost = pool_in_use()
        await asyncio.gather(*[wait_until_database_answers(lost) for _ in range(AT_ONCE)])
        found = pool_in_use()
        assert found is not None
        assert found is not lost
        await wait_until_database_answers(lost)
        assert pool_in_use() is found
        assert await in_database(_one) == 1


async def test_work_goes_on_while_the_pool_is_thrown_away() -> None:
    """Django looks up its pool twice: it must exist both times."""
    over = asyncio.Event()

    async def work() -> int:
        done = 0
        while not over.is_set():
            done += await in_database(_one)
        return done

    working = [asyncio.create_task(work()) for _ in range(AT_ONCE)]
    for _ in range(10):
        await wait_until_database_answers(pool_in_use())
    over.set()
    assert min(await asyncio.gather(*working)) > 0


async def test_what_was_under_way_in_a_lost_pool_comes_back_without_harm() -> None:
    lost = pool_in_use()

    def across() -> int:
        before = _one()
        asyncio.run_coroutine_threadsafe(wait_until_database_answers(lost), loop).result(20)
        return before + _one()

    loop = asyncio.get_running_loop()
    assert await in_database(across) == 2
    assert await in_database(_one) == 1
    assert pool_in_use() is not lost
    await asyncio.to_thread(connections.close_all)
