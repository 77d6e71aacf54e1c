"""What the original keeps in Redis is rows and jobs here: nothing of a dead worker or a turn stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker

from agents.jobs import stalled
from agents.models import Run
from tests.dispatch.conftest import database, start_worker
from tests.dispatch.world import MOST_CONNECTIONS, Worker, eventually
from tests.leaf.world import ITEM, UNGATED, Orchestrator, key_for, leaf_agent
from workspace.protocols.leaf.server.facts import facts_in

__all__ = ["database", "start_worker"]

StartWorker = Callable[..., Worker]


@pytest.mark.case("leaf-S08")
@pytest.mark.parametrize("data", [{}, {"leaf": None}, {"leaf": {"session_id": 1}}, {"leaf": "x"}])
def test_a_record_that_cannot_be_read_is_none(data: dict[str, object]) -> None:
    assert facts_in(data) is None


def _worker_row(seconds_silent: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) "
            "VALUES (now() - make_interval(secs => %s)) RETURNING id",
            [seconds_silent],
        )
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
@pytest.mark.case("leaf-W06", "leaf-W07")
def test_silent_workers_are_removed_and_their_jobs_put_back(owner: User) -> None:
    agent = leaf_agent(owner)
    Orchestrator(key_for(agent, owner)).send({"sessionId": "s", "item": ITEM, "async": True})
    silent, idle, living = _worker_row(3600), _worker_row(3600), _worker_row(0)
    jobs = ProcrastinateJob.objects.all()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", [silent])

    assert stalled.retry_stalled_jobs() == 1

    assert {job.status for job in jobs} == {"todo"}
    left = set(ProcrastinateWorker.objects.values_list("pk", flat=True))
    assert living in left
    assert not left & {silent, idle}


@pytest.mark.case("leaf-W05", "leaf-X9")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts in /proc")
def test_turns_leave_no_connection_and_a_stopped_worker_no_trace(
    database: None, start_worker: StartWorker
) -> None:
    owner = User.objects.create_user("olga")
    agent = leaf_agent(owner)
    orchestrator = Orchestrator(key_for(agent, owner))
    worker = start_worker()

    def work_off(name: str, count: int) -> tuple[int, int]:
        """Connections then, and the worker's open files besides."""
        for number in range(count):
            envelope = {"sessionId": f"{name}/{number}", "item": UNGATED, "async": True}
            orchestrator.send(envelope)
        unfinished = Run.objects.exclude(status="completed")
        eventually(lambda: not unfinished.exists(), "all is worked off")
        connections = _connections()
        files = len(os.listdir(f"/proc/{worker.pid}/fd"))  # noqa: PTH208
        return connections, files - connections

    _, files_before = work_off("warm", 16)
    connections, files = work_off("more", 64)

    # The pools grow with the rush, as far as they may.
    assert connections <= MOST_CONNECTIONS
    assert files <= files_before + 2
    worker.stop()
    assert ProcrastinateWorker.objects.count() == 0


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
