"""Look at what every answer depends on: the database, its disk, its version, the queue, a worker.

One query answers for `/readyz`, for the banner of every page and for the words of pages. A process
keeps the result for a few seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from threading import Lock

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from psycopg import errors

from agents.jobs.health import worker_silence

#: Seconds for which a look is kept.
KEPT = 3.0
#: Seconds that a run may wait while a worker is alive and carries out nothing.
STALLED = 60.0

#: Other packages record names that they have replaced since.
OUR_APPS = frozenset({"agents", "asks", "workspace"})

#: So many numbers take more than 64 kB: they are written to the disk of the database, and nothing
#: stays there. A full disk refuses them.
_LOOK = """
SET LOCAL work_mem = '64kB';
SELECT (SELECT count(*) FROM generate_series(1, 20000)),
       EXISTS (SELECT FROM procrastinate_workers
               WHERE last_heartbeat > clock_timestamp() - make_interval(secs => %s)),
       EXISTS (SELECT FROM agents_run
               WHERE status = 'running' AND lease_until > clock_timestamp()),
       (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(run.queued_at)), 0)
        FROM agents_run run
        JOIN agents_session session ON session.id = run.session_id AND session.state = 'active'
        JOIN agents_agent agent ON agent.id = session.agent_id AND agent.lifecycle = 'active'
        WHERE run.status = 'queued'),
       ARRAY(SELECT app || '.' || name FROM django_migrations)
"""


@dataclass(frozen=True, kw_only=True)
class Health:
    """What was found. ``behind`` and ``ahead``: the database has fewer or more migrations than we."""

    database_answers: bool = True
    disk_is_full: bool = False
    behind: bool = False
    ahead: bool = False
    worker_is_alive: bool = True
    queue_is_stalled: bool = False


def look_now() -> Health:
    """Look, and keep the result."""
    found = _look()
    _kept.keep(found)
    return found


def recent_health() -> Health:
    """Return the last look, or look again if it is older than a few seconds."""
    return _kept.recent()


class _Kept:
    """The last look of this process. While one thread looks, the others use the look before."""

    def __init__(self) -> None:
        self._health: Health | None = None
        self._until = 0.0
        self._looking = Lock()

    def keep(self, health: Health, seconds: float = KEPT) -> None:
        self._health, self._until = health, time.monotonic() + seconds

    def forget(self) -> None:
        self._health = None

    def recent(self) -> Health:
        known = self._health
        if known is not None and time.monotonic() < self._until:
            return known
        if not self._looking.acquire(blocking=known is None):
            return known or Health()
        try:
            return look_now()
        finally:
            self._looking.release()


_kept = _Kept()
keep = _kept.keep
forget = _kept.forget


def _look() -> Health:
    try:
        alive, busy, waited, applied = _read()
    except (DatabaseError, InterfaceError) as error:
        return what_failed(error)
    needed, known = _migrations()
    ours = {name for name in applied if name.partition(".")[0] in OUR_APPS}
    return Health(
        behind=not needed <= set(applied),
        ahead=not ours <= known,
        worker_is_alive=alive,
        queue_is_stalled=alive and not busy and waited > STALLED,
    )


def _read() -> tuple[bool, bool, float, list[str]]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOOK, [worker_silence().total_seconds()])
        cursor.nextset()  # the setting was the first statement
        _numbers, alive, busy, waited, applied = cursor.fetchone()
    return bool(alive), bool(busy), float(waited), list(applied)


def is_outage(error: BaseException | None) -> bool:
    """Whether an error means that the database is away or full, and not that a statement failed."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state[:2] in ("08", "53") or state in ("57P01", "57P02", "57P03")


def what_failed(error: Exception) -> Health:
    """Tell a full disk, and a database without our tables, from a database that is away."""
    why = error.__cause__
    if isinstance(why, errors.DiskFull | errors.ConfigurationLimitExceeded):
        return Health(disk_is_full=True)
    if isinstance(why, errors.UndefinedTable | errors.UndefinedColumn):
        return Health(behind=True)
    return Health(database_answers=False)


@cache
def _migrations() -> tuple[frozenset[str], frozenset[str]]:
    """Return the migrations that this version needs, and all that it knows, as ``app.name``.

    It knows those that one of them replaces, too.
    """
    loader = MigrationLoader(None, ignore_no_migrations=True)
    needed = frozenset(f"{app}.{name}" for app, name in loader.graph.nodes)
    known = {*loader.disk_migrations}.union(
        *(one.replaces for one in loader.disk_migrations.values())
    )
    return needed, frozenset(f"{app}.{name}" for app, name in known)
