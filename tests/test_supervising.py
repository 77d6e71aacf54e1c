"""Supervise small real processes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workspace.local.process_table import PROC, _from_proc, _from_ps, is_running, look_up
from workspace.local.state import PROJECT
from workspace.local.supervisor import Supervisor, how_it_ended, pause_after

SLEEPER = ["sleep", "600"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(said.append)
    yield made
    made.stop()


def pid_of(supervisor: Supervisor, child: int = 0) -> int | None:
    process = supervisor.children[child].process
    return process.pid if process else None


def tend_until(supervisor: Supervisor, happened: Callable[[], bool]) -> None:
    for _ in range(3000):
        supervisor.tend()
        if happened():
            return
        time.sleep(0.01)
    pytest.fail("it never happened")


@pytest.mark.parametrize("code", [0, 1])
def test_child_is_started_again_whatever_it_ended_with(
    supervisor: Supervisor, said: list[str], code: int
) -> None:
    supervisor.start("brief", [sys.executable, "-c", f"raise SystemExit({code})"])

    tend_until(supervisor, lambda: supervisor.children[0].deaths >= 2)

    assert said[0] == f"The brief process ended (exit code {code}); restarting it"


def test_killed_child_is_started_again(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start("sleeper", SLEEPER)
    first = pid_of(supervisor)
    assert first is not None

    os.kill(first, signal.SIGKILL)

    tend_until(supervisor, lambda: pid_of(supervisor) not in {None, first})
    assert said == ["The sleeper process ended (killed by SIGKILL); restarting it"]


def test_pause_before_a_restart_grows_and_stays_small() -> None:
    pauses = [pause_after(deaths) for deaths in (1, 2, 3, 4, 5, 6, 7, 9000)]

    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


def test_stop_ends_what_the_child_started_too(supervisor: Supervisor) -> None:
    supervisor.start("shell", ["sh", "-c", "sleep 601 & sleep 602"])
    shell = pid_of(supervisor)
    assert shell is not None
    tend_until(supervisor, lambda: len(group_of(shell)) == 3)
    group = group_of(shell)

    supervisor.stop()

    tend_until(Supervisor(print), lambda: not any(map(is_running, group)))


def test_what_a_killed_child_left_goes_before_it_is_started_again(supervisor: Supervisor) -> None:
    supervisor.start("shell", ["sh", "-c", "sleep 601 & sleep 602"])
    shell = pid_of(supervisor)
    assert shell is not None
    tend_until(supervisor, lambda: len(group_of(shell)) == 3)
    group = group_of(shell)

    os.kill(shell, signal.SIGKILL)

    tend_until(supervisor, lambda: not any(map(is_running, group)))


def group_of(leader: int) -> list[int]:
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if is_running(pid) and _getpgid(pid) == leader]


def _getpgid(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def test_child_that_does_not_heed_sigterm_is_killed(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workspace.local.supervisor.STOP_SECONDS", 0.3)
    supervisor.start("stubborn", STUBBORN)
    pid = pid_of(supervisor)
    assert pid is not None
    tend_until(supervisor, lambda: ignores_sigterm(pid))

    supervisor.stop()

    assert not is_running(pid)


def ignores_sigterm(pid: int) -> bool:
    status = (PROC / str(pid) / "status").read_text()
    mask = int(
        next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16
    )
    return bool(mask & 1 << (signal.SIGTERM - 1))


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_child_follows_a_supervisor_that_is_killed(tmp_path: Path, platform: str) -> None:
    """Both ways: by a signal of Linux, and by polling as on macOS."""
    follower = tmp_path / "follower.py"
    follower.write_text(
        "import sys, time\n"
        f"sys.platform = {platform!r}\n"
        "from workspace.local.follow_supervisor import follow_supervisor\n"
        "follow_supervisor()\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, str(follower)]
    code = (
        "import time; from workspace.local.supervisor import Supervisor; s = Supervisor(print);"
        f"s.start('follower', {command!r}); print(s.children[0].process.pid, flush=True);"
        "time.sleep(600)"
    )
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=PROJECT, env=env, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        tend_until(Supervisor(print), lambda: has_started(child))

        parent.kill()

        tend_until(Supervisor(print), lambda: not is_running(child))


def has_started(pid: int) -> bool:
    """Return whether the thread of the follower has started."""
    return is_running(pid) and len(list((PROC / str(pid) / "task").iterdir())) > 1


def test_variable_of_the_supervisor_is_not_passed_on(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    found = tmp_path / "found"
    code = (
        "import os, pathlib, sys; from workspace.local.follow_supervisor import *; follow_supervisor();"
        "pathlib.Path(sys.argv[1]).write_text(repr(os.environ.get(SUPERVISOR)))"
    )
    env_aware = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r}); {code}"]
    supervisor.start("curious", [*env_aware, str(found)])

    tend_until(supervisor, lambda: found.exists() and found.read_text() == "None")


def test_ends_in_words() -> None:
    assert how_it_ended(0) == "exit code 0"
    assert how_it_ended(-9) == "killed by SIGKILL"


def test_a_zombie_does_not_run() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    facts = look_up(child.pid)
    assert facts is not None
    assert facts.zombie
    assert not is_running(child.pid)
    child.wait()
    assert look_up(child.pid) is None


@pytest.mark.skipif(not shutil.which("ps"), reason="ps is not installed")
def test_ps_tells_the_same_as_proc() -> None:
    """The replacement for /proc on macOS."""
    with subprocess.Popen(SLEEPER) as sleeper:
        assert _from_ps(sleeper.pid) == _from_proc(sleeper.pid)
        sleeper.kill()
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        zombie = _from_ps(sleeper.pid)
        assert zombie is not None
        assert zombie.zombie
        sleeper.wait()
        assert _from_ps(sleeper.pid) is None
