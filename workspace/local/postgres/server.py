"""Create, launch, recognise and stop one PostgreSQL server process for one data folder."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workspace.local.postgres.binaries import (
    Account,
    Binaries,
    PostgresError,
    check_initdb_may_run,
    plain_environment,
)
from workspace.local.process_table import is_running, look_up

PORT = 5432  # names the socket file; nothing listens on TCP
ROLE = "needs_you"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
REMOVE_SECONDS = 5.0
START_ATTEMPTS = 5

# A server outlives the object that started it. This reference keeps Python from warning about it.
_started: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class PostgresServer:
    """The server of ``data``. Callers that change anything hold the lock of the state folder."""

    data: Path
    log: Path
    socket_folder: Path
    settings: Mapping[str, str]

    def major(self) -> int | None:
        """Return the major version of the existing data, or None if there is none yet."""
        if not self.data.exists():
            return None
        try:
            return int((self.data / "PG_VERSION").read_text().strip())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise PostgresError(
                f"{self.data} exists but does not contain PostgreSQL data: move it away."
            ) from None

    def make_data(self, account: Account, binaries: Binaries) -> None:
        """Create the empty database under a new name, then rename it.

        A first start that is killed thus leaves no half-made data. Its initdb may still be running,
        so the name is different each time.
        """
        check_initdb_may_run(account)
        prefix = f"{self.data.name}.new-"
        for left_over in self.data.parent.glob(f"{prefix}*"):
            _remove(left_over)
        half = Path(tempfile.mkdtemp(prefix=prefix, dir=self.data.parent))
        account.own(half)
        made = account.run(binaries.initdb, "--pgdata", half, *self._initdb_options(binaries.major))
        if made.returncode != 0:
            last = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise PostgresError(f"PostgreSQL's initdb failed for {half}: {last.rstrip('.')}.")
        half.rename(self.data)

    def launch(self, account: Account, binaries: Binaries, answers: Callable[[], bool]) -> None:
        """Start the server and wait until it answers.

        It gets several attempts, because what a kill -9 left behind may take seconds to end.
        """
        deadline = time.monotonic() + START_SECONDS
        for _ in range(START_ATTEMPTS):
            if self.pid() is None:
                # Nothing answers and we hold the lock, so this pid file is stale.
                (self.data / "postmaster.pid").unlink(missing_ok=True)
                _started.append(self._spawn(account, binaries))
            if self._answers_before(deadline, answers):
                return
            time.sleep(1)
        raise PostgresError(f"PostgreSQL did not start: {self._last_words()} ({self.log}).")

    def stop(self) -> None:
        """Stop the server if it runs. Clients are disconnected; nothing committed is lost."""
        pid = self.pid() or self._spawned()
        if pid is None:
            return
        # A fast shutdown; if that hangs, an immediate one with recovery at the next start.
        for order in (signal.SIGINT, signal.SIGQUIT):
            os.kill(pid, order)
            if _gone(pid):
                return
        raise PostgresError(f"PostgreSQL (process {pid}) did not stop; see {self.log}.")

    def pid(self) -> int | None:
        """Return the process id of the running server; None if the number was recycled."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        facts = look_up(pid)
        if facts is None or facts.zombie:
            return None
        return pid if f"-D {self.data} " in f"{' '.join(facts.command)} " else None

    def _initdb_options(self, major: int) -> list[str]:
        options = ["--username", ROLE, "--encoding", "UTF8", "--auth", "trust", "--no-instructions"]
        if self.settings.get("fsync") == "off":
            options.append("--no-sync")
        if major < 17:
            return [*options, "--locale=C.UTF-8"]
        # PostgreSQL's own locale exists on every machine.
        return [*options, "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]

    def _spawn(self, account: Account, binaries: Binaries) -> subprocess.Popen[bytes]:
        command = [str(binaries.postgres), "-D", str(self.data)]
        command += ["-k", str(self.socket_folder), "-p", str(PORT)]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                env=plain_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=account.uid,
                group=account.gid,
                extra_groups=account.extra_groups,
            )

    def _answers_before(self, deadline: float, answers: Callable[[], bool]) -> bool:
        while time.monotonic() < deadline:
            if answers():
                return True
            if self._spawned() is None and self.pid() is None:
                return False
            time.sleep(0.03)
        return False

    def _spawned(self) -> int | None:
        """Return the process id of the server we spawned, even before it writes its pid file."""
        _reap()
        ours = (process.pid for process in _started if str(self.data) in _words(process))
        return next(ours, None)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()[-20:]
        fatal = [line for line in lines if "FATAL" in line or "PANIC" in line]
        return (fatal or lines or ["its log is empty"])[-1].rstrip(".")


def _words(process: subprocess.Popen[bytes]) -> list[str]:
    return [str(word) for word in process.args] if isinstance(process.args, list) else []


def _remove(folder: Path) -> None:
    """Remove a folder that another process may still be filling, until it stays removed."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.02)


def _reap() -> None:
    """Reap our servers that ended, so that none stays a zombie."""
    _started[:] = [process for process in _started if process.poll() is None]


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        _reap()
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False
