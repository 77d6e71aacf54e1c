"""Measure the time from the commit of an answer until the resumed command has started.

The yardstick is a no-op job of the bare queue from its commit to its start, plus spawning the same
command.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figures import Figure

PATIENCE = 60.0
QUEUE, NOOP = "bench", "bench.noop"
ASKS_AGAIN = "printf 'ASK: Again?\\nOPTIONS: yes | no\\nOUTCOME: BLOCKED\\n'"
NS_PER_MS = 1e6
WARM_UP = 2
#: Seconds of rest before each sample, so that the previous one has ended completely.
BETWEEN = 0.2


def measure(runs: int) -> list[Figure]:
    """Alternate between ours and the yardstick, so that noise affects both."""
    with tempfile.TemporaryDirectory() as folder, _processes(Path(folder)):
        ours, yardstick = _Asker(Path(folder) / "resumed"), _Bare(Path(folder))
        pairs = [(ours.sample(), yardstick.sample()) for _ in range(runs + WARM_UP)][WARM_UP:]
    note = "yardstick: a bare no-op job's commit to start + a bare spawn of the same command"
    return [
        Figure(
            "commit → resumed command started",
            [pair[0] for pair in pairs],
            [pair[1] for pair in pairs],
            target=2,
            note=note,
        )
    ]


class _Asker:
    """A session that asks in every turn and gets an answer each time."""

    def __init__(self, stamps: Path) -> None:
        from django.contrib.auth.models import User

        from agents import controls, registration
        from agents.lifecycle import AgentState

        self._stamps, self._answered = stamps, 0
        self._owner = User.objects.create(username="owner")
        agent = registration.register_agent(
            slug="asker",
            owners=[self._owner],
            runtime_key="markers",
            settings={"command": _command(stamps, then=ASKS_AGAIN)},
            lifecycle=AgentState.ACTIVE,
        )
        controls.start_session(session_id=agent.sessions.get().pk, by=self._owner)

    def sample(self) -> float:
        """Return the milliseconds from the commit of an answer until the command runs again."""
        from django.db import transaction

        from asks import answering
        from asks.models import Ask

        _wait(lambda: Ask.objects.filter(status="open").exists())
        time.sleep(BETWEEN)
        committed: list[int] = []
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.time_ns()))
            answering.answer_ask(
                ask_id=Ask.objects.get(status="open").pk, by=self._owner, option="yes"
            )
        self._answered += 1
        return (_stamp(self._stamps, self._answered) - committed[0]) / NS_PER_MS


class _Bare:
    """A no-op job, then a spawn, each measured from its own start."""

    def __init__(self, folder: Path) -> None:
        self._noop, self._spawned, self._done = folder / "noop", folder / "spawned", 0

    def sample(self) -> float:
        """Return the milliseconds of both together."""
        time.sleep(BETWEEN)
        committed = self._defer()
        started = _stamp(self._noop, self._done)
        spawned = time.time_ns()
        subprocess.run(_command(self._spawned), check=True)
        ran = _stamp(self._spawned, self._done)
        self._done += 1
        return (started - committed + ran - spawned) / NS_PER_MS

    def _defer(self) -> int:
        from django.db import transaction
        from procrastinate import tasks
        from procrastinate.contrib.django.django_connector import DjangoConnector
        from procrastinate.manager import JobManager

        with transaction.atomic():
            tasks.configure_task(
                name=NOOP, job_manager=JobManager(DjangoConnector()), queue=QUEUE
            ).defer(stamp=str(self._noop))
        return time.time_ns()


def _command(stamp: Path, then: str = "true") -> list[str]:
    """Return a command that records when it has started, in nanoseconds."""
    return ["/bin/sh", "-c", f"date +%s%N >> {stamp}; {then}"]


def _stamp(file: Path, number: int) -> int:
    """Wait for a line of a file and return the time in it."""

    def lines() -> list[str]:
        return file.read_text().splitlines() if file.exists() else []

    _wait(lambda: len(lines()) > number)
    return int(lines()[number])


def _wait(ready: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError("What is measured never happened.")
        time.sleep(0.002)


@contextmanager
def _processes(folder: Path) -> Iterator[None]:
    """Run our worker and a bare worker of the queue."""
    commands = [[sys.executable, "manage.py", "worker"], [sys.executable, "-m", "bench.resume"]]
    logs = [folder / f"log-{number}" for number in range(len(commands))]
    started = []
    try:
        for command, log in zip(commands, logs, strict=True):
            with log.open("wb") as output:
                started.append(subprocess.Popen(command, stdout=output, stderr=output))
        _wait(lambda: all("ready" in log.read_text() for log in logs))
        yield
    except TimeoutError as error:
        error.add_note("\n".join(log.read_text() for log in logs))
        raise
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=PATIENCE)


def _append(file: Path, line: str) -> None:
    with file.open("a") as lines:
        lines.write(line)


def bare_worker() -> None:
    """Run the yardstick: the queue's own worker with a task that only records the time."""
    import asyncio

    import django

    import bench.world  # noqa: F401 -- names the settings

    django.setup()
    from procrastinate.contrib.django import app

    @app.task(name=NOOP, queue=QUEUE)
    async def noop(stamp: str) -> None:
        now = time.time_ns()
        await asyncio.to_thread(_append, Path(stamp), f"{now}\n")

    async def work() -> None:
        from procrastinate.contrib.django.django_connector import DjangoConnector

        with app.replace_connector(DjangoConnector().get_worker_connector()):
            async with app.open_async():
                print("ready", flush=True)
                await app.run_worker_async(queues=[QUEUE], concurrency=8)

    asyncio.run(work())


if __name__ == "__main__":
    bare_worker()
