"""Keep child processes running, and end them together with their supervisor."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workspace.local.follow_supervisor import SUPERVISOR

FIRST_PAUSE = 0.2  # seconds before a restart; doubles with every early death
LONGEST_PAUSE = 5.0
LIVED_LONG = 30.0  # seconds; a later death does not count as an early one
STOP_SECONDS = 6.0


@dataclass
class Child:
    """A supervised command in its own session, so that Ctrl-C reaches only the supervisor."""

    name: str
    command: Sequence[str]
    pass_fds: Sequence[int] = ()
    deaths: int = 0
    process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _due: float = field(default=0.0, init=False)

    def start(self) -> None:
        """Start the command. It ends when we end, even if we are killed."""
        self.process = subprocess.Popen(
            list(self.command),
            env={**os.environ, SUPERVISOR: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=self.pass_fds,
        )
        self._started = time.monotonic()

    def tend(self, say: Callable[[str], None]) -> None:
        """Restart the command after a short pause if it ended, with whatever exit code."""
        now = time.monotonic()
        if self.process is not None:
            if self.process.poll() is None:
                return
            code = self.process.returncode
            self._sweep()
            self.deaths = 1 if now - self._started > LIVED_LONG else self.deaths + 1
            self._due = now + pause_after(self.deaths)
            say(f"The {self.name} process ended ({how_it_ended(code)}); restarting it")
        if now >= self._due:
            self.start()

    def signal(self, number: signal.Signals) -> None:
        """Signal the whole process group: the command and everything it started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def wait_until(self, deadline: float) -> None:
        """Wait for the end; kill the command if it lives past the deadline."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()
        self._sweep()

    def _sweep(self) -> None:
        """Kill what an ended command left in its process group."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process = None


class Supervisor:
    """Child processes that start and stop together. ``say`` prints one line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.children: list[Child] = []
        self._say = say

    def start(self, name: str, command: Sequence[str], pass_fds: Sequence[int] = ()) -> Child:
        """Start another child and keep it running."""
        child = Child(name, command, pass_fds)
        self.children.append(child)
        child.start()
        return child

    def tend(self) -> None:
        """Restart every child that ended. Call this a few times a second."""
        for child in self.children:
            child.tend(self._say)

    def stop(self) -> None:
        """Ask every child to stop, and kill those that do not stop within a few seconds."""
        for child in self.children:
            child.signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for child in self.children:
            child.wait_until(deadline)


def pause_after(deaths: int) -> float:
    """Return the seconds before the next start after a number of early deaths in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(deaths - 1, 10), LONGEST_PAUSE)


def how_it_ended(code: int) -> str:
    """Describe a return code of subprocess."""
    if code >= 0:
        return f"exit code {code}"
    return f"killed by {signal.Signals(-code).name}"
