"""A private PostgreSQL for one machine, run from local binaries when DATABASE_URL is not set.

It listens on a unix socket in a folder only its account may enter, never on TCP. It lives in a session of
its own, so it survives a kill -9 of whoever started it and is adopted by the next start.

What stands in the state folder:
    pgdata/           the data; it exists only complete, because initdb works under another name first
    run/              the socket (a short folder under /tmp instead, when the path is too long for a socket)
    postgres.log      what the server says
    postgres.lock     held while somebody starts or stops it
"""

import fcntl
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from workspace.postgres_binaries import (
    Account,
    Binaries,
    PostgresError,
    check_initdb_may_run,
    find_binaries,
    plain_environment,
    unprivileged_account,
)
from workspace.process_table import is_running, look_up

__all__ = ["LocalPostgres", "PostgresError", "database_url", "state_dir"]

PROJECT = Path(__file__).resolve().parent.parent
DATABASE = "needs_you"
ROLE = "needs_you"
PORT = 5432  # names the socket file; nothing listens on TCP
LONGEST_SOCKET_PATH = 100  # bytes; Linux allows 107, macOS 103
START_SECONDS = 60.0
STOP_SECONDS = 20.0
START_ATTEMPTS = 5
SERVER_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "posix" if Path("/dev/shm").is_dir() else "mmap",  # noqa: S108
}

# A server outlives the object that started it; held here so that Python does not take it for forgotten.
_started: list[subprocess.Popen[bytes]] = []


def state_dir() -> Path:
    """The folder that keeps what Needs You must remember: NEEDS_YOU_STATE, or a place by who we are.

    Root's is under /var/lib, because the account that runs PostgreSQL for root must reach it.
    """
    named = os.environ.get("NEEDS_YOU_STATE")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/needs-you")
    if os.access(PROJECT, os.W_OK):
        return PROJECT / "var"
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "needs-you"


def database_url(state: Path) -> str:
    """The URL of the private server's database; starts nothing."""
    return LocalPostgres(state).url(DATABASE)


class LocalPostgres:
    """The private PostgreSQL of one state folder. ``settings`` are added to the server's own."""

    def __init__(self, state: Path, settings: Mapping[str, str] | None = None) -> None:
        self.state = state.resolve()
        self.data = self.state / "pgdata"
        self.log = self.state / "postgres.log"
        self.settings = {**SERVER_SETTINGS, **(settings or {})}

    @property
    def socket_folder(self) -> Path:
        """Where the socket is; the same for every process that names this state folder."""
        folder = self.state / "run"
        if len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= LONGEST_SOCKET_PATH:
            return folder
        digest = hashlib.sha256(os.fsencode(self.state)).hexdigest()[:12]
        return Path("/tmp") / f"needs-you-{digest}"  # noqa: S108  its owner is checked before use

    def dsn(self, dbname: str = DATABASE) -> str:
        """How psycopg reaches ``dbname`` here."""
        return make_conninfo(host=str(self.socket_folder), port=PORT, user=ROLE, dbname=dbname)

    def url(self, dbname: str = DATABASE) -> str:
        """The same as a URL, for Django's settings and for DATABASE_URL."""
        host = quote(str(self.socket_folder), safe="")
        return f"postgresql://{ROLE}@{host}:{PORT}/{quote(dbname, safe='')}"

    def alive(self) -> bool:
        """Whether the server answers; one that is merely full of clients does."""
        dsn = make_conninfo(self.dsn("postgres"), connect_timeout=3)
        try:
            with psycopg.connect(dsn) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return PGconn.ping(dsn.encode()) == Ping.OK
        return True

    def start(self) -> str:
        """Start the server, or adopt the one that runs; return the URL of the database ``needs_you``.

        Raises PostgresError with one sentence for the person who started us.
        """
        try:
            self._make_state_folder()
            with self._locked():
                if not self.alive():
                    self._bring_up()
                self._make_database()
        except OSError as error:
            raise PostgresError(f"The state folder {self.state} cannot be used: {_reason(error)}.") from error
        return self.url()

    def stop(self) -> None:
        """Stop the server if it runs: clients are disconnected, nothing committed is lost."""
        if not self.data.exists():
            return
        with self._locked():
            pid = self._postmaster()
            if pid is None:
                return
            for order in (signal.SIGINT, signal.SIGQUIT):  # fast; then at once, with recovery at the next start
                os.kill(pid, order)
                if self._gone(pid):
                    return
        raise PostgresError(f"PostgreSQL (process {pid}) did not stop; see {self.log}.")

    def others_connected(self) -> int:
        """How many connections to the database exist besides the one that asks."""
        with psycopg.connect(self.dsn()) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            ).fetchone()
        return int(row[0]) if row else 0

    def _make_state_folder(self) -> None:
        if self.state.exists():
            if not os.access(self.state, os.W_OK | os.X_OK):
                raise PostgresError(
                    f"The state folder {self.state} is not writable: choose another with --state or NEEDS_YOU_STATE."
                )
            return
        self.state.mkdir(parents=True, exist_ok=True)
        # The account that runs PostgreSQL for root passes through; nobody but root lists the folder.
        self.state.chmod(0o711 if os.geteuid() == 0 else 0o700)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.state / "postgres.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _account(self) -> Account:
        """Whoever owns the data runs it, when root meets a state folder that a normal user made."""
        if os.geteuid() == 0 and self.data.exists():
            owner = self.data.stat()
            if owner.st_uid != 0:
                return Account(owner.st_uid, owner.st_gid)
        return unprivileged_account()

    def _bring_up(self) -> None:
        account = self._account()
        if account.run("/bin/sh", "-c", 'test -x "$0"', self.state).returncode != 0:
            raise PostgresError(
                f"The account that runs PostgreSQL for root (uid {account.uid}) cannot reach the state folder {self.state}: "
                "choose one that everybody may pass through, such as /var/lib/needs-you, with --state or NEEDS_YOU_STATE."
            )
        binaries = find_binaries(account, self.state, self._major_of_data())
        self._make_socket_folder(account)
        if self._major_of_data() is None:
            self._make_data(account, binaries)
        self._launch(account, binaries)

    def _major_of_data(self) -> int | None:
        """The PostgreSQL version of the data that is here, or None when there is none yet."""
        if not self.data.exists():
            return None
        try:
            return int((self.data / "PG_VERSION").read_text().strip())
        except (FileNotFoundError, ValueError):
            raise PostgresError(f"{self.data} is there but holds no PostgreSQL data: move it away.") from None

    def _make_socket_folder(self, account: Account) -> None:
        folder = self.socket_folder
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in {os.geteuid(), account.uid}:
            raise PostgresError(f"{folder} belongs to somebody else, so the database's socket cannot be put there.")
        account.own(folder)
        folder.chmod(0o700)

    def _make_data(self, account: Account, binaries: Binaries) -> None:
        """Make the empty database under another name first: a killed first start leaves nothing half-made."""
        check_initdb_may_run(account)
        half = self.state / "pgdata.new"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(mode=0o700)
        account.own(half)
        durable = [] if self.settings.get("fsync") != "off" else ["--no-sync"]
        made = account.run(
            binaries.initdb, "--pgdata", half, "--username", ROLE, "--encoding", "UTF8", "--auth", "trust",
            "--no-instructions", *_locale(binaries.major), *durable,
        )  # fmt: skip
        if made.returncode != 0:
            last = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise PostgresError(f"PostgreSQL's initdb failed in {self.state}: {last.rstrip('.')}.")
        half.rename(self.data)

    def _launch(self, account: Account, binaries: Binaries) -> None:
        """Run the server until it answers. A few tries: what kill -9 left behind may take seconds to go."""
        deadline = time.monotonic() + START_SECONDS
        for _ in range(START_ATTEMPTS):
            self._clear_stale_pid()
            if self._postmaster() is None:
                _started.append(self._spawn(account, binaries))
            if self._answers_before(deadline):
                return
            time.sleep(1)
        raise PostgresError(f"PostgreSQL did not start: {self._last_words()} ({self.log}).")

    def _spawn(self, account: Account, binaries: Binaries) -> subprocess.Popen[bytes]:
        command = [str(binaries.postgres), "-D", str(self.data), "-k", str(self.socket_folder), "-p", str(PORT)]
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

    def _answers_before(self, deadline: float) -> bool:
        while time.monotonic() < deadline:
            if self.alive():
                return True
            if not self._starting() and self._postmaster() is None:
                return False
            time.sleep(0.03)
        return False

    def _starting(self) -> bool:
        """Whether the server we spawned still runs, though it may not have written its pid file yet."""
        _reap()
        return any(str(self.data) in process.args for process in _started)  # type: ignore[operator]

    def _postmaster(self) -> int | None:
        """The process id of our running server. A recycled number is somebody else's process."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        facts = look_up(pid)
        if facts is None or facts.zombie or f"-D {self.data} " not in " ".join(facts.command) + " ":
            return None
        return pid

    def _clear_stale_pid(self) -> None:
        """Only while we hold the lock and nothing answers: what names no server of ours is stale."""
        if self._postmaster() is None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _gone(self, pid: int) -> bool:
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            _reap()
            if not is_running(pid):
                return True
            time.sleep(0.02)
        return False

    def _make_database(self) -> None:
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        fatal = [line for line in lines[-20:] if "FATAL" in line or "PANIC" in line]
        return (fatal or lines)[-1].rstrip(".")


def _reap() -> None:
    """Forget the servers of ours that ended, so that none stays a zombie."""
    _started[:] = [process for process in _started if process.poll() is None]


def _locale(major: int) -> list[str]:
    """A locale that every machine has: PostgreSQL's own from 17 on."""
    if major >= 17:
        return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    return ["--locale=C.UTF-8"]


def _reason(error: OSError) -> str:
    return f"{(error.strerror or str(error)).lower()} ({error.filename})" if error.filename else str(error)
