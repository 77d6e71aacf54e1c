"""Carry runs from claim to settlement: take the turn, write its events as they come, settle it.

The claim is renewed while the turn runs. A worker that loses a claim stops at once and writes nothing
more. A worker that shuts down returns its runs to the queue.

A worker that cannot reach PostgreSQL lets its turns continue for up to a minute, because a database
restart is far more likely than one worker being cut off. If another worker takes over the run
meanwhile, it first ends the turn's command if that runs on the same machine. The epoch keeps the
cut-off worker from writing anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any, cast

from agents import claims, settlement
from agents.claims import ClaimLost
from agents.db.retrying import LOST, in_database, in_database_within
from agents.events.log import NewEvent
from agents.jobs import tick
from agents.lifecycle import Outcome
from agents.running import processes, runtime
from agents.running.runtime import Ended, Started, Turn, TurnEvent
from agents.running.transcript import Transcript

log = logging.getLogger(__name__)

#: Longest time between two renewals of a claim, in seconds. A stop is noticed within this time.
RENEW_EVERY = 2.0
#: How long a worker that shuts down tries to return a run to the queue, in seconds.
RETURN_PATIENCE = 1.5


def worker_name() -> str:
    """Return the name of this worker process: host and pid."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Runner:
    """Carries up to ``slots`` runs at once. The runs survive a lost connection of the job queue."""

    def __init__(self, slots: int) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._tasks: set[asyncio.Task[None]] = set()

    async def carry(self, run_id: int) -> None:
        """Carry a run to its end. Cancelling this call ends the wait, not the run."""
        task = asyncio.create_task(self._carry(run_id), name=f"run {run_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait({task})

    async def start(self, session_id: int) -> None:
        """Start a session if it is due. The sweep finds it if this fails."""
        try:
            await in_database(tick.start_if_due, session_id)
        except Exception:
            log.exception("Session %s was not started.", session_id)

    async def _carry(self, run_id: int) -> None:
        async with self._slots:
            try:
                await carry_run(run_id)
            except Exception:
                # The claim expires, and this or another worker takes over the run.
                log.exception("Run %s was dropped.", run_id)

    async def stop(self) -> None:
        """End every running turn with its processes, and return the runs to the queue."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))


async def carry_run(run_id: int) -> None:
    """Claim a run and carry it to its end. Do nothing if it cannot be claimed."""
    turn = await _claim(run_id)
    if turn is None:
        return
    try:
        if turn.left_behind:
            await asyncio.to_thread(processes.kill_if_same, turn.left_behind)
        await _carry(turn)
    except ClaimLost:
        log.info("Run %s is not ours any more (epoch %s).", turn.run_id, turn.epoch)
    except asyncio.CancelledError:
        await _return_run(turn)
        raise


async def _claim(run_id: int) -> Turn | None:
    """Claim a run. If cancelled meanwhile, return a run that was claimed to the queue."""
    attempts = itertools.count()

    def claim() -> Turn | None:
        again = next(attempts) > 0
        turn = claims.claim_run(run_id=run_id, worker=worker_name(), again=again)
        return turn and _read_ahead(turn)

    claiming = asyncio.ensure_future(in_database(claim))
    try:
        return await asyncio.shield(claiming)
    except asyncio.CancelledError:
        if turn := await claiming:
            await _return_run(turn)
        raise


def _read_ahead(turn: Turn) -> Turn:
    """Call the runtime's ``read_ahead``, if it has one, in this thread. It saves a switch of threads."""
    try:
        taker: Any = runtime.find_runtime(turn.agent.runtime)
        return replace(turn, read=taker.read_ahead(turn)) if hasattr(taker, "read_ahead") else turn
    except LOST:
        raise
    except Exception:  # noqa: BLE001 -- the turn meets the error again and reports it
        return turn


async def _return_run(turn: Turn) -> None:
    with contextlib.suppress(*LOST):
        await in_database_within(RETURN_PATIENCE, claims.return_run, turn.fence)


async def _carry(turn: Turn) -> None:
    body = asyncio.create_task(_take_turn(turn))
    keeper = asyncio.create_task(_keep_claim(turn))
    try:
        await asyncio.wait({body, keeper}, return_when=asyncio.FIRST_COMPLETED)
        if not body.done():
            keeper.result()
            raise ClaimLost
        await _settle(turn, *body.result())
    finally:
        body.cancel()
        keeper.cancel()
        await asyncio.gather(body, keeper, return_exceptions=True)


async def _take_turn(turn: Turn) -> tuple[Ended, list[NewEvent]]:
    """Take the turn and write its events; turn any exception into a failed end with a reason.

    Return the end, and the last events, which are written together with it.
    """
    try:
        async with Transcript(turn, write=in_database) as transcript:
            return await _listen(turn, transcript), await transcript.hand_over()
    except ClaimLost:
        raise
    except Exception as error:
        log.exception("The turn of run %s broke.", turn.run_id)
        return _broken(f"The runtime broke: {type(error).__name__}: {error}"), []


async def _listen(turn: Turn, transcript: Transcript) -> Ended:
    async with contextlib.aclosing(_events_of(turn)) as happening:
        async for event in happening:
            if isinstance(event, Ended):
                return event
            if not isinstance(event, Started):
                await transcript.add(event)
            elif not await in_database(claims.renew_claim, turn.fence, process=event.process):
                raise ClaimLost
    return _broken("The turn ended without an outcome.")


async def _events_of(turn: Turn) -> AsyncGenerator[TurnEvent, None]:
    try:
        taker = runtime.find_runtime(turn.agent.runtime)
    except LookupError as error:
        yield replace(_broken(str(error)), cannot_start=True)
        return
    async with contextlib.aclosing(_closable(taker.take_turn(turn))) as happening:
        async for event in happening:
            yield event


def _closable(events: AsyncIterator[TurnEvent]) -> AsyncGenerator[TurnEvent, None]:
    """Treat a runtime's events as an async generator. The port requires only that they can be closed."""
    return cast("AsyncGenerator[TurnEvent, None]", events)


def _broken(error: str) -> Ended:
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=error[:2000])


async def _keep_claim(turn: Turn) -> None:
    """Renew the claim until it is lost, then return."""
    every = min(claims.lease_duration().total_seconds() / 3, RENEW_EVERY)
    while True:
        await asyncio.sleep(every)
        if not await in_database(claims.renew_claim, turn.fence):
            return


async def _settle(turn: Turn, ended: Ended, last: list[NewEvent]) -> None:
    """Settle the turn. If the result cannot be stored, fail the run so that it does not loop."""
    try:
        settled = await in_database(settlement.settle_run, turn.fence, ended, last)
    except LOST:
        raise
    except Exception as error:
        log.exception("What run %s ended with could not be stored.", turn.run_id)
        why = f"What the turn ended with could not be stored: {type(error).__name__}: {error}"
        settled = await in_database(settlement.settle_run, turn.fence, _broken(why), last)
    if not settled:
        raise ClaimLost
