"""A worker dies or freezes while it has a run: another takes over, and the first can write nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.models import Event
from tests.dispatch.world import (
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


@pytest.mark.case("aoa-60")
def test_a_killed_workers_run_is_taken_over(
    owner: User,
    start_worker: StartWorker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the default settings. The dead worker's command is ended first."""
    script = f"""
        if [ -e {tmp_path}/pid ]; then
            case "$(cat /proc/$(cat {tmp_path}/child)/stat)" in *") S"*) echo still there;; esac
            echo second; {DONE}; exit
        fi
        sleep 600 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/pid; wait
    """
    session = session_of(owner, "sleeper", script)
    run = start(session, owner)
    first = start_worker()
    command, child = pid_in(tmp_path / "pid"), pid_in(tmp_path / "child")
    eventually(lambda: session.runs.get().process, "the command is on record")
    second = start_worker()
    first.kill()
    assert alive(command)
    killed_at = time.monotonic()
    eventually(lambda: session.runs.get().epoch == 2, "another worker has the run")
    with capsys.disabled():
        sys.stdout.write(f"\n  taken over {time.monotonic() - killed_at:.1f} s after kill -9\n")
    run = until(run, "completed")
    assert run.worker.endswith(f":{second.pid}")
    assert not alive(command)
    assert not alive(child)
    assert said(session).split()[0] == "second"
    assert seqs(session) == list(range(1, len(seqs(session)) + 1))


def test_a_frozen_worker_that_wakes_up_writes_nothing(
    owner: User, start_worker: StartWorker, tmp_path: Path
) -> None:
    script = f"""
        if [ -e {tmp_path}/pid ]; then echo second; {DONE}; exit; fi
        echo $$ > {tmp_path}/pid; while :; do echo first; sleep 0.05; done
    """
    session = session_of(owner, "talker", script)
    run = start(session, owner)
    frozen = start_worker(RUN_LEASE_SECONDS="2")
    command = pid_in(tmp_path / "pid")
    eventually(lambda: "first" in said(session), "it talks")
    frozen.freeze()
    other = start_worker(RUN_LEASE_SECONDS="2")
    run = until(run, "completed")
    assert run.epoch == 2
    assert not alive(command)
    other.stop()
    written = seqs(session)
    frozen.thaw()
    # Once it has carried another run, it is awake and has dropped its lost run.
    until(start(session_of(owner, "another", DONE), owner), "completed")
    until(start(session_of(owner, "yet-another", DONE), owner), "completed")
    assert seqs(session) == written
    run.refresh_from_db()
    assert (run.status, run.epoch, run.outcome) == ("completed", 2, "WORK_DONE")
    frozen.stop()
    assert frozen.running.returncode == 0


@pytest.mark.case("aoa-59")
def test_a_run_is_not_taken_over_while_its_worker_lives(
    owner: User, start_worker: StartWorker, tmp_path: Path
) -> None:
    """A turn without output for several leases stays with the worker that renews its claim."""
    session = session_of(owner, "quiet", f"echo $$ > {tmp_path}/pid; sleep 5; {DONE}")
    run = start(session, owner)
    start_worker(RUN_LEASE_SECONDS="1")
    start_worker(RUN_LEASE_SECONDS="1")
    run = until(run, "completed")
    assert run.epoch == 1
    assert Event.objects.filter(session=session, kind="started").count() == 1
