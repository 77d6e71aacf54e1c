"""One worker: it carries several runs at once, stops cleanly, and prints what it does."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents import controls
from agents.jobs import health
from agents.models import Event, Run
from asks import answering
from asks.models import Ask
from tests.dispatch.world import (
    ASKS,
    DONE,
    Worker,
    alive,
    eventually,
    pid_in,
    said,
    seqs,
    session_of,
    start,
    until,
)

StartWorker = Callable[..., Worker]


def test_a_worker_carries_a_run_to_its_end(owner: User, start_worker: StartWorker) -> None:
    session = session_of(owner, "greeter", f"echo hello; {DONE}")
    run = start(session, owner)
    worker = start_worker()
    run = until(run, "completed")
    assert (run.outcome, run.epoch, run.process) == ("WORK_DONE", 1, {})
    assert "hello" in said(session)
    assert seqs(session) == list(range(1, len(seqs(session)) + 1))
    assert worker.said().splitlines() == [f"Worker {run.worker} ready: up to 8 runs at once."]


def test_an_answer_resumes_the_run_that_asked(owner: User, start_worker: StartWorker) -> None:
    answered = f"echo Booked.; {DONE}"
    script = f"if grep -q 'Which ledger'; then {answered}; else {ASKS}; fi"
    session = session_of(owner, "reconciler", script)
    start_worker()
    asked = until(start(session, owner), "waiting_human")
    answering.answer_ask(ask_id=Ask.objects.get().pk, by=owner, option="us")
    resumed = until(Run.objects.exclude(pk=asked.pk).get(), "completed")
    assert (resumed.number, resumed.outcome) == (2, "WORK_DONE")
    assert "Booked." in said(session)


@pytest.mark.case("aoa-67")
def test_runs_overlap(owner: User, start_worker: StartWorker, tmp_path: Path) -> None:
    """Each run waits for the three others: run one after another they would never end."""
    meet = f"""
        cd {tmp_path}; touch $0
        while [ $(ls | grep -c guest) -lt 4 ]; do sleep 0.1; done; {DONE}
    """
    runs = []
    for number in range(4):
        guest = {"command": ["/bin/sh", "-c", meet, f"guest-{number}"]}
        runs.append(start(session_of(owner, f"guest-{number}", "", settings=guest), owner))
    start_worker("--concurrency", "4")
    for run in runs:
        until(run, "completed")


@pytest.mark.case("aoa-68")
def test_a_worker_carries_no_more_runs_at_once_than_it_is_told(
    owner: User, start_worker: StartWorker, tmp_path: Path
) -> None:
    """Each run counts the runs that are running at the same time."""
    count = f"""
        mkdir -p {tmp_path}/room; touch {tmp_path}/room/$0; sleep 0.2
        ls {tmp_path}/room | wc -l >> {tmp_path}/counts; rm {tmp_path}/room/$0; {DONE}
    """
    runs = []
    for number in range(6):
        guest = {"command": ["/bin/sh", "-c", count, f"guest-{number}"]}
        runs.append(start(session_of(owner, f"guest-{number}", "", settings=guest), owner))
    start_worker("--concurrency", "2")
    for run in runs:
        until(run, "completed")
    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 6
    assert max(counts) <= 2


@pytest.mark.case("X4")
def test_an_answer_does_not_wait_for_a_slow_turn(
    owner: User, start_worker: StartWorker, tmp_path: Path
) -> None:
    """An ask is answered and its run completes while another agent's turn is still running."""
    slow = session_of(owner, "slow", f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; {DONE}")
    asker = session_of(owner, "asker", f"if grep -q 'Which ledger'; then {DONE}; else {ASKS}; fi")
    start_worker()
    slow_run = until(start(slow, owner), "running")
    until(start(asker, owner), "waiting_human")
    answering.answer_ask(ask_id=Ask.objects.get().pk, by=owner, option="us")
    until(asker.runs.get(number=2), "completed")
    slow_run.refresh_from_db()
    assert slow_run.status == "running"
    (tmp_path / "go").touch()
    until(slow_run, "completed")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_to_stop_gives_its_run_back(
    owner: User, start_worker: StartWorker, tmp_path: Path, how: signal.Signals
) -> None:
    """The command and its children are gone, and the next worker gets the run at once."""
    script = f"""
        if [ -e {tmp_path}/pid ]; then echo second; {DONE}; exit; fi
        echo first; sleep 600 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/pid; wait
    """
    session = session_of(owner, "sleeper", script)
    run = start(session, owner)
    worker = start_worker()
    command = pid_in(tmp_path / "pid")
    eventually(lambda: "first" in said(session), "its first word is written")
    worker.stop(how)
    assert worker.running.returncode == 0
    assert worker.said().splitlines()[1:] == ["Worker stopped."]
    assert not alive(command)
    assert not alive(pid_in(tmp_path / "child"))
    run.refresh_from_db()
    assert (run.status, run.worker, run.lease_until) == ("queued", "", None)
    start_worker()
    assert until(run, "completed").epoch == 2
    assert said(session).split()[:2] == ["first", "second"]


def test_a_paused_agents_run_is_not_left_in_the_queue(
    owner: User, start_worker: StartWorker, tmp_path: Path
) -> None:
    """No worker would claim it there. Resuming the agent starts it again."""
    script = f"[ -e {tmp_path}/pid ] && {{ {DONE}; exit; }}; echo $$ > {tmp_path}/pid; sleep 600"
    session = session_of(owner, "sleeper", script)
    run = start(session, owner)
    worker = start_worker()
    pid_in(tmp_path / "pid")
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    worker.stop()
    run.refresh_from_db()
    assert run.status == "cancelled"
    start_worker()
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    until(session.runs.get(number=2), "completed")


def test_a_person_stops_a_run_under_way(
    owner: User, start_worker: StartWorker, tmp_path: Path
) -> None:
    session = session_of(owner, "sleeper", f"echo $$ > {tmp_path}/pid; sleep 600")
    run = start(session, owner)
    start_worker()
    command = pid_in(tmp_path / "pid")
    assert controls.stop_session(session_id=session.pk, by=owner)
    eventually(lambda: not alive(command), "its command is gone")
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_an_agent_of_an_unknown_runtime_fails_in_words(
    owner: User, start_worker: StartWorker
) -> None:
    session = session_of(owner, "stranger", DONE)
    session.agent.runtime = "telepathy"
    session.agent.save()
    run = start(session, owner)
    start_worker()
    assert "no runtime “telepathy”" in until(run, "failed").error
    assert Event.objects.filter(session=session, kind="error").count() == 1


def test_a_sign_of_life(owner: User, start_worker: StartWorker) -> None:
    assert not health.is_worker_alive()
    worker = start_worker()
    eventually(health.is_worker_alive, "the worker shows a sign of life")
    worker.stop()
    assert not health.is_worker_alive()
