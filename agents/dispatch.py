"""Carries one claimed run: runs its turn, writes what happens as it comes, and settles it.

The claim is renewed while the turn runs. Whoever loses it stops at once and writes nothing more;
a worker that shuts down gives the run back for another to take.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync
from django.db import InterfaceError, OperationalError

from agents import processes, runtime, settling, starting
from agents.lifecycle import Outcome
from agents.runtime import Ended, Started, Turn, TurnEvent
from agents.starting import ClaimLost
from agents.transcript import Transcript

log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")

#: How long the database may be away before a running turn is given up for lost, in seconds.
PATIENCE = 60.0


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


async def carry_run(run_id: int) -> None:
    """Claim a run and carry it to its end. Does nothing when there is nothing to claim."""
    turn = await in_database(starting.claim, run_id=run_id, worker=worker_name())
    if turn is None:
        return
    processes.kill_if_same(turn.left_behind)
    try:
        await _carry(turn)
    except ClaimLost:
        log.info("Run %s is not ours any more (epoch %s).", turn.run_id, turn.epoch)
    except asyncio.CancelledError:
        await asyncio.shield(in_database(starting.give_back, turn.fence))
        raise


async def _carry(turn: Turn) -> None:
    body = asyncio.create_task(_take_turn(turn))
    keeper = asyncio.create_task(_keep_claim(turn))
    try:
        await asyncio.wait({body, keeper}, return_when=asyncio.FIRST_COMPLETED)
        if not body.done():
            raise ClaimLost
        await _settle(turn, body.result())
    finally:
        for task in (body, keeper):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def _take_turn(turn: Turn) -> Ended:
    """Run the turn, writing what it says; whatever breaks becomes a failed turn, in words."""
    transcript = Transcript(turn, write=in_database)
    try:
        async with contextlib.aclosing(_events_of(turn)) as happening:
            async for event in happening:
                if isinstance(event, Ended):
                    return event
                if isinstance(event, Started):
                    await in_database(starting.renew, turn.fence, process=event.process)
                else:
                    await transcript.add(event)
    except (ClaimLost, asyncio.CancelledError):
        raise
    except Exception as error:
        log.exception("The turn of run %s broke.", turn.run_id)
        return _broken(f"The runtime broke: {type(error).__name__}: {error}")
    finally:
        await transcript.close()
    return _broken("The turn ended without an outcome.")


async def _events_of(turn: Turn) -> AsyncIterator[TurnEvent]:
    try:
        taker = runtime.by_key(turn.agent.runtime)
    except LookupError as error:
        yield _broken(str(error))
        return
    async with contextlib.aclosing(taker.take_turn(turn)) as happening:  # type: ignore[type-var]
        async for event in happening:
            yield event


def _broken(error: str) -> Ended:
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=error[:2000])


async def _keep_claim(turn: Turn) -> None:
    """Renew the claim until it is lost. Returns when it is."""
    every = starting.lease().total_seconds() / 3
    while True:
        await asyncio.sleep(every)
        if not await in_database(starting.renew, turn.fence):
            return


async def _settle(turn: Turn, ended: Ended) -> None:
    if not await in_database(settling.settle, turn.fence, ended):
        raise ClaimLost


async def in_database(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do database work in a thread, trying again while PostgreSQL is away for a moment.

    Everything done through here is fenced by the claim's epoch, so that doing it twice is harmless.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + PATIENCE
    pause = 0.1
    in_thread: Any = DatabaseSyncToAsync(work, thread_sensitive=False)
    while True:
        try:
            result: R = await in_thread(*args, **kwargs)
            return result
        except (OperationalError, InterfaceError):
            if loop.time() + pause > give_up:
                raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)
