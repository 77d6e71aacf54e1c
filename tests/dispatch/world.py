"""Small agents that are real commands, real workers to run them, and helpers to wait for both."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import dj_database_url
from django.contrib.auth.models import User
from django.db import connections

from agents import controls, registration
from agents.lifecycle import AgentState
from agents.models import Event, Run, Session
from tests.live_server import ManagedProcess

T = TypeVar("T")

#: The longest wait, in seconds: far above the usual, so that reaching it means "never".
PATIENCE = 90.0
#: The most database connections: the two pools of a worker, and the test's own.
MOST_CONNECTIONS = 12 + 4 + 1
ASKS = "printf 'ASK: Which ledger?\\nOPTIONS: EU | US\\nOUTCOME: BLOCKED\\n'"
DONE = "echo OUTCOME: WORK_DONE"


class Worker(ManagedProcess):
    """`manage.py worker`, ready to work once start() returns."""

    def __init__(self, *arguments: str, log: Path, env: dict[str, str]) -> None:
        super().__init__("worker", *arguments, log=log, env=env)

    def start(self) -> None:
        super().start()
        eventually(
            lambda: "ready: up to" in self.said() or not self.is_running(), "the worker is ready"
        )
        if not self.is_running():
            raise RuntimeError(f"the worker did not start:\n{self.said()}")

    @property
    def pid(self) -> int:
        return self.running.pid

    def freeze(self) -> None:
        """Suspend the process, as closing a laptop's lid does."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Kill the worker, frozen or not. Its commands end by themselves or with their test."""
        self.kill()


def eventually(check: Callable[[], T], what: str, within: float = PATIENCE) -> T:
    """Wait until a check returns something true, and return that."""
    deadline = time.monotonic() + within
    while not (found := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f"After {within:g} s it is still not so that {what}.")
        time.sleep(0.05)
    return found


def session_of(owner: User, slug: str, script: str, **fields: Any) -> Session:
    """Return the home session of a new agent whose turn is a shell script."""
    settings = {"command": ["/bin/sh", "-c", script], **fields.pop("settings", {})}
    agent = registration.register_agent(
        slug=slug,
        owners=[owner],
        runtime_key="markers",
        settings=settings,
        lifecycle=AgentState.ACTIVE,
        **fields,
    )
    return Session.objects.get(agent=agent, is_home=True)


def start(session: Session, by: User) -> Run:
    run = controls.start_session(session_id=session.pk, by=by)
    assert run is not None
    return run


def status(run: Run) -> str:
    return Run.objects.values_list("status", flat=True).get(pk=run.pk)


def until(run: Run, *statuses: str) -> Run:
    """Wait until a run has one of these statuses."""
    eventually(lambda: status(run) in statuses, f"{run} is {' or '.join(statuses)}")
    return Run.objects.get(pk=run.pk)


def said(session: Session) -> str:
    """Return the whole output of the agent in a session."""
    output = Event.objects.filter(session=session, kind="output").order_by("seq")
    return "".join(output.values_list("text", flat=True))


def seqs(session: Session) -> list[int]:
    return list(Event.objects.filter(session=session).order_by("seq").values_list("seq", flat=True))


def alive(pid: int) -> bool:
    """Whether a process is alive and not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the process may end meanwhile
        return False
    return state not in "ZX"


def disconnect() -> None:
    """Drop this thread's connection and the pool, after the database has gone away."""
    connections["default"].close()
    connections["default"].close_pool()  # type: ignore[attr-defined]


def pid_in(file: Path) -> int:
    """Wait for a command to write its process id into a file, and return it."""
    return int(eventually(lambda: file.exists() and file.read_text().strip(), f"{file} is there"))


def point_at(url: str) -> None:
    """Use the database with this URL, here and in the processes that we start."""
    disconnect()
    os.environ["DATABASE_URL"] = url
    connections["default"].settings_dict.update(dj_database_url.parse(url))
