"""A private PostgreSQL for one machine, run from local binaries when DATABASE_URL is not set.

It listens on a unix socket in a folder that only its account may enter, never on TCP. It has its own
process session, so it survives a kill -9 of the process that started it, and the next start adopts it.

The state folder contains:
    pgdata/         the data; it is complete if it exists, because initdb writes to another name first
    run/            the socket (or a short folder in /tmp, if the path is too long for a socket)
    postgres.log    the log of the server
    postgres.lock   locked while a process starts or stops the server
    postgres.users  locked, shared, by every process that uses the server until it leaves

filelock has no shared lock, so the last one is an flock of ours.
"""

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import psycopg
from filelock import FileLock
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from workspace.local.postgres.binaries import (
    Account,
    PostgresError,
    find_binaries,
    unprivileged_account,
)
from workspace.local.postgres.server import PORT, ROLE, PostgresServer
from workspace.local.state import StateError, make_state_folder, state_dir

__all__ = ["LocalPostgres", "PostgresError", "database_url", "state_dir"]

DATABASE = "needs_you"
LONGEST_SOCKET_PATH = 100  # bytes; Linux allows 107, macOS 103
SECONDS_TO_DISCONNECT = 2.0
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "posix" if Path("/dev/shm").is_dir() else "mmap",  # noqa: S108
}


def database_url(state: Path) -> str:
    """Return the URL of the private server's database; start nothing."""
    return LocalPostgres(state).url()


class LocalPostgres:
    """The private PostgreSQL of a state folder. ``settings`` extend the server's defaults."""

    def __init__(self, state: Path, settings: Mapping[str, str] | None = None) -> None:
        self.state = state.resolve()
        self._settings = {**SETTINGS, **(settings or {})}
        self._using: int | None = None  # a file descriptor

    @cached_property
    def server(self) -> PostgresServer:
        """The server process for the data of this state folder."""
        log = self.state / "postgres.log"
        return PostgresServer(self.state / "pgdata", log, self.socket_folder, self._settings)

    @cached_property
    def socket_folder(self) -> Path:
        """The folder of the socket; the same for every process with this state folder."""
        folder = self.state / "run"
        if len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= LONGEST_SOCKET_PATH:
            return folder
        digest = hashlib.sha256(os.fsencode(self.state)).hexdigest()[:12]
        return Path("/tmp") / f"needs-you-{digest}"  # noqa: S108  its owner is checked before use

    def dsn(self, dbname: str = DATABASE) -> str:
        """Return the connection string of ``dbname`` for psycopg."""
        return make_conninfo(host=str(self.socket_folder), port=PORT, user=ROLE, dbname=dbname)

    def url(self, dbname: str = DATABASE) -> str:
        """Return the URL of ``dbname``, for Django's settings and for DATABASE_URL."""
        host = quote(str(self.socket_folder), safe="")
        return f"postgresql://{ROLE}@{host}:{PORT}/{quote(dbname, safe='')}"

    def alive(self) -> bool:
        """Return whether the server answers; a server without a free connection does."""
        dsn = make_conninfo(self.dsn("postgres"), connect_timeout=3)
        try:
            with psycopg.connect(dsn) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return PGconn.ping(dsn.encode()) == Ping.OK
        return True

    def start(self) -> str:
        """Start the server, or adopt the running one; return the URL of its database.

        Raises PostgresError with one sentence for the person who started us.
        """
        try:
            make_state_folder(self.state)
            self._join_users()
            with self._locked():
                if not self.alive():
                    self._bring_up()
                self._make_database()
        except StateError as error:
            raise PostgresError(str(error)) from error
        except OSError as error:
            raise PostgresError(
                f"The state folder {self.state} cannot be used: {_reason(error)}."
            ) from error
        except psycopg.Error as error:
            raise PostgresError(
                f"PostgreSQL runs but refuses us: {' '.join(str(error).split())}."
            ) from error
        return self.url()

    def stop(self) -> None:
        """Stop the server if it runs, even if it is in use; nothing committed is lost."""
        if self.state.exists():
            with self._locked():
                self._end_server()

    def leave(self) -> bool:
        """Stop the server unless another process uses it; return whether it was stopped.

        This stops an adopted server too: otherwise a server left by a kill -9 would run for ever.
        """
        with self._locked():
            last = self._leave_users()
            if not last or self._others_stay_connected():
                return False
            self._end_server()
        return True

    def _end_server(self) -> None:
        self.server.stop()
        if self.socket_folder.parent != self.state:
            with suppress(OSError):
                self.socket_folder.rmdir()

    def _locked(self) -> FileLock:
        return FileLock(self.state / "postgres.lock", fallback_to_soft=False)

    def _join_users(self) -> None:
        """Register as a user until we leave or our process ends, however it ends."""
        if self._using is None:
            self._using = self._open_users()
            fcntl.flock(self._using, fcntl.LOCK_SH)

    def _open_users(self) -> int:
        return os.open(self.state / "postgres.users", os.O_RDWR | os.O_CREAT, 0o600)

    def _leave_users(self) -> bool:
        """Stop being a user; return whether we were the last. The caller holds the lock."""
        users = self._open_users() if self._using is None else self._using
        self._using = None
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(users)
        return True

    def _others_stay_connected(self) -> bool:
        """Return whether other clients stay connected, a moment after our processes ended."""
        deadline = time.monotonic() + SECONDS_TO_DISCONNECT
        while self._others_connected():
            if time.monotonic() > deadline:
                return True
            time.sleep(0.05)
        return False

    def _others_connected(self) -> bool:
        try:
            with psycopg.connect(self.dsn("postgres"), connect_timeout=3) as connection:
                found = connection.execute(
                    "SELECT 1 FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1"
                ).fetchone()
        except psycopg.OperationalError:
            return False
        return found is not None

    def _account(self) -> Account:
        """Return the owner of the data: root may use a state folder that a normal user made."""
        if os.geteuid() == 0 and self.server.data.exists():
            owner = self.server.data.stat()
            if owner.st_uid != 0:
                return Account(owner.st_uid, owner.st_gid)
        return unprivileged_account()

    def _bring_up(self) -> None:
        account = self._account()
        if account.run("/bin/sh", "-c", 'test -x "$0"', self.state).returncode != 0:
            raise PostgresError(
                f"The account that runs PostgreSQL for root (uid {account.uid}) cannot reach the "
                f"state folder {self.state}: choose one that every user can enter, such as "
                "/var/lib/needs-you, with --state or NEEDS_YOU_STATE."
            )
        major = self.server.major()
        binaries = find_binaries(account, self.state, major)
        self._make_socket_folder(account)
        if major is None:
            self.server.make_data(account, binaries)
        self.server.launch(account, binaries, self.alive)

    def _make_socket_folder(self, account: Account) -> None:
        folder = self.socket_folder
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in {os.geteuid(), account.uid}:
            raise PostgresError(
                f"{folder} belongs to another user, so the database's socket cannot be created there."
            )
        account.own(folder)
        folder.chmod(0o700)

    def _make_database(self) -> None:
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            known = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
            ).fetchone()
            if known is None:
                name = sql.Identifier(DATABASE)
                connection.execute(sql.SQL("CREATE DATABASE {}").format(name))


def _reason(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    return f"{(error.strerror or 'unknown error').lower()} ({error.filename})"
