"""PostgreSQL is killed under a worker. The worker waits; nothing is lost or repeated."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from agents.models import Event
from tests.conftest import SERVER
from tests.dispatch.world import (
    DONE,
    Worker,
    alive,
    disconnect,
    eventually,
    pid_in,
    point_at,
    said,
    seqs,
    session_of,
    start,
    until,
)
from workspace.local.postgres.instance import LocalPostgres

pytestmark = pytest.mark.chaos

StartWorker = Callable[..., Worker]
#: Commits survive a crash of the server, but not of the machine.
SETTINGS = {"fsync": "off", "full_page_writes": "off"}


@pytest.fixture
def database(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[LocalPostgres]:
    """Start a separate PostgreSQL for this test, so that it can be killed."""
    server, before = pytestconfig.stash[SERVER], str(connections["default"].settings_dict["NAME"])
    with tempfile.TemporaryDirectory(prefix="needs-you-outage-") as folder:
        Path(folder).chmod(0o711)
        private = LocalPostgres(Path(folder) / "state", SETTINGS)
        with django_db_blocker.unblock():
            try:
                private.start()
                point_at(private.url())
                call_command("migrate", verbosity=0)
                yield private
            finally:
                disconnect()
                private.stop()
                server.point_at(before)


def power_cut(postgres: LocalPostgres) -> None:
    pid = postgres.server.pid()
    assert pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not postgres.alive(), "PostgreSQL is gone")
    disconnect()


def test_a_turn_goes_on_while_the_database_is_away(
    owner: User, database: LocalPostgres, start_worker: StartWorker, tmp_path: Path
) -> None:
    script = f"""
        for n in 1 2 3 4 5 6 7 8; do echo before-$n; sleep 0.05; done; echo $$ > {tmp_path}/pid
        while [ ! -e {tmp_path}/back ]; do echo away; sleep 0.2; done
        for n in 1 2 3 4 5 6 7 8; do echo after-$n; sleep 0.05; done; {DONE}
    """
    session = session_of(owner, "talker", script)
    run = start(session, owner)
    worker = start_worker()
    command = pid_in(tmp_path / "pid")
    power_cut(database)
    assert alive(command)
    database.start()
    (tmp_path / "back").touch()
    run = until(run, "completed")
    assert (run.epoch, run.outcome) == (1, "WORK_DONE")
    words = [word for word in said(session).split() if word != "away"]
    expected = [f"{when}-{n}" for when in ("before", "after") for n in range(1, 9)]
    assert words[:16] == expected
    assert seqs(session) == list(range(1, len(seqs(session)) + 1))
    assert Event.objects.filter(session=session, kind="ended").count() == 1
    assert worker.is_running()


def test_a_worker_finds_the_database_again(
    owner: User, database: LocalPostgres, start_worker: StartWorker
) -> None:
    """Once after a crash and once after an orderly restart. Then the worker stops cleanly."""
    worker = start_worker()
    until(start(session_of(owner, "first", DONE), owner), "completed")
    power_cut(database)
    eventually(lambda: "waiting for it" in worker.said(), "it has noticed")
    database.start()
    until(start(session_of(owner, "second", DONE), owner), "completed")
    disconnect()
    database.stop()
    database.start()
    until(start(session_of(owner, "third", DONE), owner), "completed")
    worker.stop()
    assert worker.running.returncode == 0
    assert "Traceback" not in worker.said()


def test_a_worker_stops_while_the_database_is_away(
    owner: User, database: LocalPostgres, start_worker: StartWorker, tmp_path: Path
) -> None:
    """Its commands end, too. The run continues once the database and a worker are back."""
    script = f"[ -e {tmp_path}/pid ] && {{ {DONE}; exit; }}; echo $$ > {tmp_path}/pid; sleep 600"
    session = session_of(owner, "sleeper", script)
    run = start(session, owner)
    worker = start_worker(RUN_LEASE_SECONDS="3")
    command = pid_in(tmp_path / "pid")
    power_cut(database)
    worker.stop()
    assert not alive(command)
    database.start()
    start_worker(RUN_LEASE_SECONDS="3")
    assert until(run, "completed").epoch == 2
