"""The PostgreSQL that tests run on, and a fresh database in it for each pytest process.

DATABASE_URL names the server, or a private one is started in a folder of its own, without waiting
for the disk. The migrations run once into a template; each process copies the template (a tenth of
a second) under a name that it holds by a file lock, so any number of test runs go side by side.
"""

import fcntl
import hashlib
import inspect
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import dj_database_url
import psycopg
from django.core.management import call_command
from django.core.management.color import Style
from django.db import connections
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from workspace.local.database import disconnect
from workspace.local.postgres.instance import LocalPostgres

PROJECT = Path(__file__).resolve().parent.parent
# Durable against the death of a process, not of the machine: the tests' data is worth nothing.
UNHURRIED = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
TEMPLATE = "needs_you_template_"


class TestServer:
    """The server of this pytest process: start() before anything connects, leave() at the end."""

    __test__ = False

    def __init__(self) -> None:
        self.folder = _folder()
        self._given = os.environ.get("DATABASE_URL")
        self._private = None if self._given else LocalPostgres(self.folder, UNHURRIED)

    def start(self) -> None:
        """Have a server, and point Django and every process we start at it."""
        self.folder.mkdir(mode=0o711, exist_ok=True)
        if self.folder.stat().st_uid != os.geteuid():
            raise RuntimeError(f"{self.folder} belongs to somebody else")
        if self._private:
            self._private.start()
        self.point_at("postgres")

    def leave(self) -> None:
        """Stop the private server, unless another test run is on it."""
        if self._private:
            self._private.leave()

    def remove(self) -> None:
        """Remove the private server with all its data, unless another test run is on it."""
        if self._private and self.folder.exists() and self._private.leave():
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """The URL of one database of the server."""
        if self._private:
            return self._private.url(database)
        return urlsplit(str(self._given))._replace(path=f"/{database}").geturl()

    def point_at(self, database: str) -> None:
        """Use ``database`` from now on, here and in the processes we start."""
        disconnect()
        os.environ["DATABASE_URL"] = self.url(database)
        place = dj_database_url.parse(self.url(database))
        connections["default"].settings_dict.update(
            {name: place[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
        )

    @contextmanager
    def fresh_database(self) -> Iterator[str]:
        """A migrated, empty database that only this process uses; its name."""
        with self._held_name() as name:
            with self._locked("template.lock"):
                template = self._template()
                self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
                self._run("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
            self.point_at(name)
            yield name
            self.point_at("postgres")
            # Whatever a test left connected must not keep the database.
            self._run("DROP DATABASE {} WITH (FORCE)", name)

    def _template(self) -> str:
        """The template of the migrations as they are now; older ones are dropped."""
        wanted = TEMPLATE + migrations_fingerprint()
        known = self._databases_like(TEMPLATE)
        if wanted in known:
            return wanted
        half = f"{wanted}_half"
        for name in known:
            self._run("DROP DATABASE {} WITH (FORCE)", name)
        self._run("CREATE DATABASE {}", half)
        self.point_at(half)
        call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
        self.point_at("postgres")
        self._run("ALTER DATABASE {} RENAME TO {}", half, wanted)
        return wanted

    def _databases_like(self, prefix: str) -> list[str]:
        with psycopg.connect(self.url("postgres")) as connection:
            rows = connection.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix]
            ).fetchall()
        return [str(row[0]) for row in rows]

    def _run(self, statement: LiteralString, *names: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    @contextmanager
    def _held_name(self) -> Iterator[str]:
        """The first name that no other test process holds."""
        for number in itertools.count():
            try:
                with self._locked(f"slot-{number}.lock", fcntl.LOCK_NB):
                    yield f"test_needs_you_{self.folder.name[-8:]}_{number}"
                    return
            except BlockingIOError:
                continue

    @contextmanager
    def _locked(self, name: str, how: int = 0) -> Iterator[None]:
        with (self.folder / name).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | how)
            yield


def flush_quickly() -> None:
    """Have `flush`, after each transactional test, delete rows instead of truncating every table.

    Forty times as quick with tables as empty as ours. Needs a role that may switch triggers off.
    """
    truncate = DatabaseOperations.sql_flush

    def delete(self: DatabaseOperations, style: Style, tables: list[str], **how: bool) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT has_parameter_privilege('session_replication_role', 'SET')")
            if cursor.fetchone() != (True,):
                return truncate(self, style, tables, **how)
        names = [self.quote_name(table) for table in tables]
        # Whoever still writes is waited for, or a row of his would outlive the flush.
        statements = [
            "SET LOCAL session_replication_role = replica",
            f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE",
            *(f"DELETE FROM {name}" for name in names),
        ]
        return ["; ".join(statements)]

    DatabaseOperations.sql_flush = delete  # type: ignore[assignment, method-assign]


def migrations_fingerprint() -> str:
    """A short digest of every migration of every app: what a migrated database depends on."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    files = {inspect.getfile(type(migration)) for migration in loader.disk_migrations.values()}
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:12]


def _folder() -> Path:
    """A short path that root's database account reaches, unlike a checkout in a closed home."""
    project = hashlib.sha256(os.fsencode(PROJECT)).hexdigest()[:8]
    return Path("/tmp") / f"needs-you-tests-{os.geteuid()}-{project}"
