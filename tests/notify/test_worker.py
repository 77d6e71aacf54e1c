"""The real worker delivers what was committed without it, and what a killed one had started."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections
from django.db.models import F
from pytest_django import DjangoDbBlocker

from asks import answering
from tests.api import world
from tests.conftest import SERVER
from tests.dispatch.world import Worker, eventually
from tests.notify.receivers import keeping_command, kept
from workspace.models import Delivery, DeliveryState


@pytest.fixture
def database(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """A database for this test and the workers that it starts."""
    server = pytestconfig.stash[SERVER]
    before = str(connections["default"].settings_dict["NAME"])
    with django_db_blocker.unblock():
        with server.fresh_database():
            yield
        server.point_at(before)


@pytest.fixture
def start_worker(tmp_path: Path, database: None) -> Iterator[Callable[[list[str]], Worker]]:
    workers: list[Worker] = []

    def start(hook: list[str]) -> Worker:
        log = tmp_path / f"worker-{len(workers)}.log"
        worker = Worker(log=log, env={"NEEDS_YOU_EVENT_HOOK": shlex.join(hook)})
        workers.append(worker)
        worker.start()
        return worker

    yield start
    for worker in workers:
        worker.end()
        print(worker.said())  # noqa: T201 -- pytest shows it when the test failed


def test_a_worker_delivers_what_was_committed_before_it_came(
    start_worker: Callable[[list[str]], Worker], tmp_path: Path
) -> None:
    cast = world.cast()
    ask = world.asked(cast.agent)
    answering.answer_ask(ask_id=ask.pk, by=cast.owner, option="eu")
    start_worker(keeping_command(tmp_path / "told"))
    eventually(lambda: len(kept(tmp_path / "told")) == 2, "both events are told")
    assert {event["kind"] for event in kept(tmp_path / "told")} == {"ask.opened", "ask.answered"}


def test_what_a_killed_worker_had_begun_is_told_by_the_next_with_the_same_id(
    start_worker: Callable[[list[str]], Worker], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    world.asked(world.cast().agent)
    # It ends soon by itself, because nothing is left to end it.
    first = start_worker(keeping_command(told, then="\nimport time\ntime.sleep(5)"))
    eventually(lambda: kept(told), "the hook has begun")
    first.kill()
    assert Delivery.objects.get().state == DeliveryState.QUEUED
    Delivery.objects.update(next_try=F("next_try") - timedelta(minutes=5))
    start_worker(keeping_command(told))
    eventually(lambda: len(kept(told)) == 2, "the event is told again")
    before, after = kept(told)
    assert before == after
    eventually(lambda: Delivery.objects.get().state == DeliveryState.DELIVERED, "it is delivered")


def test_a_worker_stops_at_once_although_a_hook_hangs(
    start_worker: Callable[[list[str]], Worker], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    world.asked(world.cast().agent)
    hangs = "\nimport time\ntime.sleep(600)"
    worker = start_worker(keeping_command(told, then=hangs))
    eventually(lambda: kept(told), "the hook has begun")
    worker.stop()
    assert "Worker stopped." in worker.said()
    assert worker.running.returncode == 0
    # Returned: due at once, and no attempt used.
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == (DeliveryState.QUEUED, 0)
    eventually(lambda: not _commands_of(told), "the command is ended")


def _commands_of(told: Path) -> list[str]:
    """Return the running processes that were started with this file name."""
    time.sleep(0.01)
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes()
        except OSError:
            continue
        if str(told).encode() in line.split(b"\0"):
            lines.append(line.decode(errors="replace"))
    return lines
