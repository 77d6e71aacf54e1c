"""A run that waits for a person is a row: it holds no process, no thread and no connection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents.models import Event, Run, Session
from asks import answering
from asks.models import Ask, Verdict
from tests.dispatch.world import (
    ASKS,
    DONE,
    MOST_CONNECTIONS,
    Worker,
    eventually,
    session_of,
    start,
    until,
)

StartWorker = Callable[..., Worker]
PARKED = 60

#: Asks once, and finishes when it gets the answer.
ASKS_ONCE = f"if grep -q 'Which ledger'; then {DONE}; else {ASKS}; fi"


def held_by(worker: Worker) -> tuple[int, int, int]:
    """Count a worker's child processes, threads and connections."""
    proc = Path(f"/proc/{worker.pid}")
    children = (proc / f"task/{worker.pid}/children").read_text().split()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return len(children), len(list((proc / "task").iterdir())), cursor.fetchone()[0]


def waiting() -> int:
    return Run.objects.filter(status="waiting_human").count()


@pytest.mark.case("C117")
def test_parked_runs_hold_nothing(owner: User, start_worker: StartWorker) -> None:
    """With sixty parked runs a worker holds no more than with one round of eight."""
    worker = start_worker()
    for number in range(8):
        start(session_of(owner, f"warm-up-{number}", ASKS_ONCE), owner)
    eventually(lambda: waiting() == 8, "all of them wait")
    before = held_by(worker)
    for number in range(PARKED):
        start(session_of(owner, f"asker-{number}", ASKS_ONCE), owner)
    eventually(lambda: waiting() == 8 + PARKED, "all of them wait")
    eventually(lambda: held_by(worker)[0] == 0, "no command is left")
    processes, threads, connections = held_by(worker)
    assert processes == 0
    # The number of idle threads and connections in a pool varies, up to the pool's size.
    assert threads <= max(before[1], 8 + 8 + 8)
    assert connections <= MOST_CONNECTIONS


@pytest.mark.case("C117")
def test_after_a_restart_all_that_waited_can_be_answered(
    owner: User, start_worker: StartWorker
) -> None:
    """Everything is restarted, and each parked run continues with its own answer."""
    first = start_worker()
    sessions = [session_of(owner, f"asker-{number}", ASKS_ONCE) for number in range(20)]
    for session in sessions:
        start(session, owner)
    eventually(lambda: waiting() == 20, "all of them wait")
    first.kill()
    start_worker()
    for number, ask in enumerate(Ask.objects.order_by("id")):
        answering.answer_ask(ask_id=ask.pk, by=owner, option=("eu", "us")[number % 2])
    for session in sessions:
        until(Run.objects.get(session=session, number=2), "completed")
    assert Verdict.objects.count() == 20
    assert waiting() == 0


@pytest.mark.case("C52")
def test_an_answer_that_comes_with_the_question_is_not_lost(
    owner: User, start_worker: StartWorker
) -> None:
    """An ask becomes visible only when it can be answered, so no answer comes too early."""
    start_worker()
    session = session_of(owner, "asker", ASKS_ONCE)
    start(session, owner)
    eventually(Ask.objects.exists, "the ask is there")
    ask = Ask.objects.get()
    answering.answer_ask(ask_id=ask.pk, by=owner, option="eu")
    until(Run.objects.get(session=session, number=2), "completed")


@pytest.mark.case("C116")
def test_a_schedule_piles_up_no_runs_on_one_that_waits(
    owner: User, start_worker: StartWorker
) -> None:
    """A scheduled run asks while nobody is there. It parks, and the schedule continues after it."""
    wake = {"kind": "schedule", "every_seconds": 1}
    session = session_of(owner, "nightly", ASKS_ONCE, wake=wake)
    start_worker()
    eventually(lambda: Run.objects.filter(session=session).exists(), "the schedule starts it")
    run = until(Run.objects.get(session=session), "waiting_human")
    # Other scheduled work continues with each tick while this one waits.
    other = session_of(owner, "hourly", DONE, wake=wake)
    eventually(lambda: Run.objects.filter(session=other).count() >= 3, "three ticks have passed")
    assert list(Run.objects.filter(session=session)) == [run]
    assert Ask.objects.filter(session=session).count() == 1
    assert Session.objects.get(pk=session.pk).status == "WAITING_HUMAN"
    answering.answer_ask(ask_id=Ask.objects.get(session=session).pk, by=owner, option="eu")
    until(Run.objects.get(session=session, number=2), "completed")
    eventually(lambda: Run.objects.filter(session=session).count() >= 3, "the schedule goes on")
    # Read once: the schedule starts another run every second, even between two reads.
    started = list(
        Event.objects.filter(session=session, kind="started").values_list("run", flat=True)
    )
    assert len(started) == len(set(started)) >= 2
