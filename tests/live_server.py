"""The real commands as processes on the test database; they can be killed and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from workspace.local.up import address_answers

PROJECT = Path(__file__).resolve().parent.parent
MANAGE = [sys.executable, "-W", "ignore", str(PROJECT / "manage.py")]
START_SECONDS = 60.0
STOP_SECONDS = 15.0


def free_port() -> int:
    """A port that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ManagedProcess:
    """One `manage.py` command in a session of its own, with its output in a file."""

    def __init__(self, *arguments: str, log: Path, env: dict[str, str] | None = None) -> None:
        self.command = [*MANAGE, *arguments]
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self._env = env or {}

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The process; it must have been started."""
        if self.process is None:
            raise RuntimeError("not started")
        return self.process

    def start(self) -> None:
        """Start it with the environment of this moment: DATABASE_URL names the test database."""
        env = {**os.environ, **self._env}
        # The test process has this for Playwright's sake; in a server it would hide mistakes.
        env.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=PROJECT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        """Whether the process was started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Signal the whole group and wait for the end; a group that stays is killed."""
        if not self.is_running():
            return
        os.killpg(self.running.pid, how)
        try:
            self.running.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.stop(signal.SIGKILL)

    def said(self) -> str:
        """Everything it printed so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class LiveServer(ManagedProcess):
    """`manage.py web` on a port that stays the same over kills and restarts."""

    def __init__(self, log: Path, env: dict[str, str] | None = None) -> None:
        self.port = free_port()
        super().__init__("web", "--port", str(self.port), log=log, env=env)

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        super().start()
        deadline = time.monotonic() + START_SECONDS
        while not address_answers(self.url, "/healthz"):
            if not self.is_running() or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the web process did not start:\n{self.said()[-4000:]}")
            time.sleep(0.05)
