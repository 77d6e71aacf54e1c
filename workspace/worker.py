"""The worker process: fetch jobs from the queue, carry out runs, and do periodic work.

The queue's own worker stops for good when PostgreSQL restarts. This one reconnects and continues;
running turns are not disturbed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from procrastinate.contrib.django import app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.psycopg_connector import PsycopgConnector
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from agents.db.retrying import (
    LOST,
    database_answers,
    once_in_database,
    pool_in_use,
    wait_until_database_answers,
)
from agents.jobs import queue, stalled, tick
from agents.running.runner import Runner, worker_name
from asks.actions import grant_turns, interrupted
from asks.deadlines import expiry
from asks.deadlines.nudges import send_due_nudges
from asks.ledger import anchors
from asks.signed_channel import decision_files
from workspace.notify.courier import Courier
from workspace.protocols.eve.client import watching

log = logging.getLogger(__name__)

#: Seconds. Only polling finds jobs that are scheduled for a time, so this must be short.
POLL_EVERY = 1.0
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
STOP_WITHIN = 5.0
#: Seconds after an outage in which workers renew their claims, before any is taken as expired.
HOLDERS_FIRST = 5.0
#: Threads for work outside of runs: duties, and ending what a dead worker left behind.
SPARE_THREADS = 8


@dataclass(frozen=True)
class Duty:
    """Periodic work, repeated ``every`` seconds after it ended."""

    every: float
    do: Callable[[], object]


DUTIES = (
    Duty(1.0, tick.run_tick),
    Duty(1.0, expiry.expire_due_asks),
    Duty(2.0, send_due_nudges),
    Duty(5.0, interrupted.ask_about_interrupted),
    Duty(10.0, grant_turns.lapse_stale_grants),
    Duty(5.0, stalled.retry_stalled_jobs),
    Duty(5.0, decision_files.scan_for_worker),
    Duty(10.0, anchors.write_anchor_if_due),
    Duty(5.0, watching.watch_sessions),
    Duty(3600.0, stalled.prune_jobs),
)


async def run_worker(concurrency: int, say: Callable[[str], None]) -> None:
    """Carry out up to ``concurrency`` runs at once until SIGTERM or SIGINT; then return the rest.

    Raises RuntimeError if a part of the worker ends by itself, so that the supervisor restarts it.
    """
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(concurrency + SPARE_THREADS, "database"))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    runner = Runner(concurrency)
    jobs = [asyncio.create_task(_keep_fetching(runner, concurrency, say))]
    jobs += [asyncio.create_task(_do_regularly(duty)) for duty in DUTIES]
    jobs.append(asyncio.create_task(Courier().run(stop)))
    asked = asyncio.create_task(stop.wait())
    await asyncio.wait([asked, *jobs], return_when=asyncio.FIRST_COMPLETED)
    broken = [] if stop.is_set() else [job for job in jobs if job.done()]
    for job in jobs:
        job.cancel()
    ending = asyncio.create_task(runner.stop())
    await asyncio.wait([*jobs, ending], timeout=STOP_WITHIN)
    for job in broken:
        raise RuntimeError("A part of the worker ended by itself.") from job.exception()
    say("Worker stopped.")


async def _keep_fetching(runner: Runner, concurrency: int, say: Callable[[str], None]) -> None:
    pause = FIRST_PAUSE
    while True:
        await _until_reached()
        began = asyncio.get_running_loop().time()
        try:
            await _fetch(runner, concurrency, say)
            log.warning("The connection to the queue was lost; connecting again.")
        except Exception as error:  # noqa: BLE001 -- the next attempt may succeed
            why = " ".join(str(error.__cause__ or error).split()) or type(error).__name__
            log.warning("The queue cannot be used (%s); trying again.", why)
        if asyncio.get_running_loop().time() - began > LONGEST_PAUSE:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _until_reached() -> None:
    if not await asyncio.to_thread(database_answers):
        log.warning("The database does not answer; waiting for it.")
        await wait_until_database_answers(None)


async def _fetch(runner: Runner, concurrency: int, say: Callable[[str], None]) -> None:
    """Fetch and run jobs until the connection is lost; then return or raise."""
    async with _connections() as pool:
        with app.replace_connector(PsycopgConnector()):
            async with app.open_async(pool):
                say(f"Worker {worker_name()} ready: up to {concurrency} runs at once.")
                await app.run_worker_async(
                    queues=[queue.QUEUE],
                    concurrency=concurrency,
                    install_signal_handlers=False,
                    fetch_job_polling_interval=POLL_EVERY,
                    # The runner continues the runs, or returns them, whatever ends the fetching.
                    shutdown_graceful_timeout=0.5,
                    additional_context={"carrier": runner},
                    # Jobs do not use Django's connections themselves.
                    task_middleware=[],
                )


def _connections() -> AsyncConnectionPool:
    """Return the pool of the queue. It does not check connections: a dead one causes a reconnect."""
    return AsyncConnectionPool(
        kwargs=connector_params(),
        configure=_by_statement,
        min_size=1,
        max_size=4,
        timeout=3.0,
        reconnect_timeout=3.0,
        open=False,
    )


async def _by_statement(connection: AsyncConnection) -> None:
    """Commit each statement of the queue by itself, without waiting for the disk.

    Jobs may be lost: the row of the run is the truth, and lost jobs are created again.
    """
    await connection.set_autocommit(True)
    await connection.execute("SET synchronous_commit TO off")


async def _do_regularly(duty: Duty) -> None:
    """Repeat a duty for ever; log its errors."""
    while True:
        pool = pool_in_use()
        try:
            await once_in_database(duty.do)
        except LOST:
            await wait_until_database_answers(pool)
            await asyncio.sleep(HOLDERS_FIRST)
        except Exception:
            log.exception("%s failed and will be retried.", duty.do.__qualname__)
        await asyncio.sleep(duty.every)
