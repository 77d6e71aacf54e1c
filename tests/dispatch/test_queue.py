"""The traps of the job queue, one by one: duplicate, late, lost and stalled jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections, transaction
from django.db.models.functions import Now
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker
from procrastinate.contrib.django.utils import connector_params
from procrastinate.psycopg_connector import PsycopgConnector

from agents import claims
from agents.jobs import queue, stalled, tick
from agents.models import Run
from tests.dispatch.world import DONE, Worker, eventually, session_of, start, until
from workspace import worker

StartWorker = Callable[..., Worker]


def jobs(**which: object) -> list[int]:
    return [job.args["run_id"] for job in ProcrastinateJob.objects.filter(**which).order_by("id")]


def execute(statement: str, *values: str | int | None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def silent_worker(seconds: int) -> int:
    """Insert a worker into the queue's tables whose last heartbeat was so long ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat)"
            " VALUES (now() - make_interval(secs => %s)) RETURNING id",
            [seconds],
        )
        return int(cursor.fetchone()[0])


class UndoneError(Exception):
    """Rolls back a transaction on purpose."""


def test_a_job_is_undone_with_its_transaction_inside_a_worker_too(database: None) -> None:
    """There the library uses another connector: a bare ``defer`` would leave a job behind."""

    @transaction.atomic
    def enqueue_and_fail() -> None:
        queue.enqueue_run(1)
        raise UndoneError

    def enqueue_and_undo() -> None:
        with pytest.raises(UndoneError):
            enqueue_and_fail()

    async def inside_a_worker() -> None:
        with app.replace_connector(PsycopgConnector(kwargs=connector_params())):
            async with app.open_async():
                await asyncio.to_thread(enqueue_and_undo)
                await asyncio.to_thread(queue.enqueue_run, 2)

    asyncio.run(inside_a_worker())
    assert jobs() == [2]


def test_waking_twice_is_no_error(owner: User, start_worker: StartWorker) -> None:
    """The second job finds nothing to claim, and causes no error."""
    session = session_of(owner, "greeter", DONE)
    run = start(session, owner)
    with transaction.atomic():
        queue.enqueue_run(run.pk)
        queue.enqueue_run(run.pk)
    start_worker()
    assert until(run, "completed").epoch == 1
    eventually(lambda: not jobs(status__in=["todo", "doing"]), "all jobs are done")
    # A tick may have added a job if it saw the run between the fetch of its job and its claim.
    assert set(jobs(status="succeeded")) == set(jobs()) == {run.pk}
    assert len(jobs()) >= 3


def test_an_emptied_queue_heals(owner: User, start_worker: StartWorker) -> None:
    run = start(session_of(owner, "greeter", DONE), owner)
    execute("DELETE FROM procrastinate_jobs")
    start_worker()
    until(run, "completed")


def test_a_worker_that_was_taken_for_dead_works_on(owner: User, start_worker: StartWorker) -> None:
    """Its row in the queue's tables was deleted while it was frozen; it inserts a new one."""
    start_worker()
    eventually(ProcrastinateWorker.objects.exists, "it is in the books")
    assert execute("DELETE FROM procrastinate_workers") == 1
    until(start(session_of(owner, "greeter", DONE), owner), "completed")
    eventually(ProcrastinateWorker.objects.exists, "it is in the books again")


def test_a_job_that_waits_for_its_time_is_found(owner: User, start_worker: StartWorker) -> None:
    """There is no notification for it: the worker finds it by polling, so it must poll often."""
    run = start(session_of(owner, "greeter", DONE), owner)
    Run.objects.filter(pk=run.pk).update(queued_at=Now() + claims.lease_duration() * 100)
    start_worker()
    execute("DELETE FROM procrastinate_jobs")
    execute(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at) VALUES"
        " (%s, %s, jsonb_build_object('run_id', %s::int), now() + interval '1 second')",
        queue.QUEUE,
        queue.DISPATCH,
        run.pk,
    )
    until(run, "completed")
    assert worker.POLL_EVERY <= 1


def test_only_the_dead_ones_jobs_are_put_back(database: None) -> None:
    dead, living = silent_worker(60), silent_worker(1)
    for number, holder in enumerate((dead, living, None), start=1):
        queue.enqueue_run(number)
        execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s"
            " WHERE (args->>'run_id')::int = %s",
            holder,
            number,
        )
    queue.enqueue_run(4)
    assert stalled.retry_stalled_jobs() == 2
    assert jobs(status="todo") == [1, 3, 4]
    assert jobs(status="doing") == [2]
    assert list(ProcrastinateWorker.objects.values_list("id", flat=True)) == [living]
    assert stalled.retry_stalled_jobs() == 0


def test_one_sweeps_at_a_time(database: None) -> None:
    """A second worker neither waits nor works with an outdated list."""
    queue.enqueue_run(1)
    execute("UPDATE procrastinate_jobs SET status = 'doing'")
    with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
        assert stalled.retry_stalled_jobs() == 1
        assert elsewhere.submit(in_a_thread(stalled.retry_stalled_jobs)).result(timeout=60) == 0


def test_a_dead_worker_that_another_removes_is_not_waited_for(database: None) -> None:
    """A starting worker deletes dead workers in any order, so waiting for it could deadlock."""
    one, _ = silent_worker(60), silent_worker(60)
    with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
        execute("DELETE FROM procrastinate_workers WHERE id = %s", one)
        assert elsewhere.submit(in_a_thread(stalled.retry_stalled_jobs)).result(timeout=60) == 0
        assert list(ProcrastinateWorker.objects.all()) == []
    assert not ProcrastinateWorker.objects.exists()


def in_a_thread(work: Callable[[], int]) -> Callable[[], int]:
    """Wrap work so that its thread returns its connection afterwards."""

    def run() -> int:
        try:
            return work()
        finally:
            connection.close()

    return run


def test_a_job_that_a_worker_is_finishing_is_left_alone(database: None) -> None:
    """Its row is locked: the job is skipped, without waiting, and is not retried."""
    queue.enqueue_run(1)
    execute("UPDATE procrastinate_jobs SET status = 'doing'")
    with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
        execute("UPDATE procrastinate_jobs SET status = 'succeeded'")
        assert elsewhere.submit(in_a_thread(stalled.retry_stalled_jobs)).result(timeout=60) == 0
    assert jobs(status="succeeded") == [1]


def test_finished_jobs_are_kept_for_some_days(database: None) -> None:
    for number in (1, 2, 3):
        queue.enqueue_run(number)
    execute("UPDATE procrastinate_jobs SET status = 'doing'")
    execute("UPDATE procrastinate_jobs SET status = 'succeeded' WHERE (args->>'run_id')::int < 3")
    execute(
        "UPDATE procrastinate_events SET at = now() - interval '30 days' WHERE job_id IN"
        " (SELECT id FROM procrastinate_jobs WHERE (args->>'run_id')::int IN (1, 3))"
    )
    assert stalled.prune_jobs() == 1
    assert jobs() == [2, 3]


def test_a_lapsed_claim_gets_one_job_however_often_it_is_looked_at(owner: User) -> None:
    run = start(session_of(owner, "greeter", DONE), owner)
    assert claims.claim_run(run_id=run.pk, worker="gone") is not None
    Run.objects.filter(pk=run.pk).update(lease_until=Now() - claims.lease_duration())
    execute("DELETE FROM procrastinate_jobs")
    assert [tick.run_tick(), tick.run_tick()] == [1, 0]
    assert jobs(status="todo") == [run.pk]


def test_a_held_claim_gets_none(owner: User) -> None:
    run = start(session_of(owner, "greeter", DONE), owner)
    assert claims.claim_run(run_id=run.pk, worker="here") is not None
    execute("DELETE FROM procrastinate_jobs")
    assert tick.run_tick() == 0


def test_a_lost_network_is_noticed() -> None:
    """Both connections of a worker time out when the database goes silent."""
    of_django: dict[str, Any] = connections["default"].get_connection_params()
    for options in (of_django, connector_params()):
        assert 0 < options["connect_timeout"] <= 10
        assert 0 < options["tcp_user_timeout"] <= 15_000
        probing = options["keepalives_interval"] * options["keepalives_count"]
        assert options["keepalives_idle"] + probing <= 15


def test_takeover_is_quick_by_default() -> None:
    """A dead worker's run waits at most 20 s: its lease, a tick, and the pickup of a job."""
    ticks = next(duty.every for duty in worker.DUTIES if duty.do is tick.run_tick)
    assert settings.RUN_LEASE_SECONDS + 2 * ticks + worker.POLL_EVERY <= 20


@pytest.mark.django_db
def test_postgresql_itself_ends_what_hangs() -> None:
    """A frozen process or a machine that is cut off holds its locks for at most a minute."""
    wanted = {name: f"-c {name}={value}" for name, value in settings.SERVER_SIDE.items()}
    for options in (connections["default"].get_connection_params(), connector_params()):
        assert [each for each in wanted.values() if each not in options["options"]] == []
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("1min",)
