"""Periodic work: start due sessions, take over expired claims, re-enqueue lost jobs.

Any number of workers may do this at once. Each session is handled under its own lock; sessions that
another worker has locked are skipped.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from agents import inbox, next_run, wakes
from agents.db.statements import Prepared, query
from agents.jobs import queue
from agents.lifecycle import LIVE_RUNS, AgentState, Cause, InboxKind, InboxState, SessionState
from agents.locking import LockedSession, lock_first_session
from agents.models import InboxItem, Run, Session

BATCH = 100

#: Runs that a worker should look at although no waiting job refers to them. A run that was queued
#: within the last second is left out: a worker may have fetched its job and be about to claim it.
_RUNS_WITHOUT_A_JOB = """
SELECT run.id FROM (
    SELECT queued.id FROM agents_run queued
    JOIN agents_session session ON session.id = queued.session_id AND session.state = 'active'
    JOIN agents_agent agent ON agent.id = session.agent_id AND agent.lifecycle = 'active'
    WHERE queued.status = 'queued' AND queued.queued_at < clock_timestamp() - interval '1 second'
    AND (session.held_until IS NULL OR session.held_until < clock_timestamp())
    UNION ALL
    SELECT lapsed.id FROM agents_run lapsed
    WHERE lapsed.status = 'running' AND lapsed.lease_until < clock_timestamp()
) run
WHERE NOT EXISTS (
    SELECT FROM procrastinate_jobs job
    WHERE job.task_name = %s AND job.status = 'todo' AND (job.args->>'run_id')::bigint = run.id)
LIMIT %s
"""


def run_tick() -> int:
    """Start due sessions and re-enqueue lost runs; return how many sessions and runs were changed."""
    changed = sum(start_if_due(session_id) for session_id in _due_sessions())
    changed += sum(_wake_forgotten(session_id) for session_id in _forgotten_sessions())
    return changed + _enqueue_dropped_runs()


def _due_sessions() -> list[int]:
    return [pk for (pk,) in (*_HELD.rows(), *_DUE.rows())]


_LIVE = Run.objects.filter(session=OuterRef("pk"), status__in=LIVE_RUNS)
_DUE = Prepared(
    lambda: (
        Session.objects.filter(
            ~Exists(_LIVE),
            state=SessionState.ACTIVE,
            agent__lifecycle=AgentState.ACTIVE,
            wake_at__lte=Now(),
            held_until=None,
        )
        .order_by("wake_at", "pk")
        .values_list("pk")[:BATCH]
    ),
    of=(),
)
#: Sessions whose hold is over. They may have a live run that waits, or be paused.
_HELD = Prepared(
    lambda: (
        Session.objects.filter(held_until__lte=Now())
        .order_by("held_until", "pk")
        .values_list("pk")[:BATCH]
    ),
    of=(),
)


def _lock_if_free(session_id: int) -> LockedSession | None:
    return lock_first_session(Session.objects.filter(pk=session_id), if_free=True)


@transaction.atomic
def start_if_due(session_id: int) -> bool:
    """Queue the next run of a session if it is due and nobody has locked it. Return whether it was."""
    session = _lock_if_free(session_id)
    if session is None:
        return False
    return next_run.queue_next_run(session) is not None


def _forgotten_sessions() -> list[int]:
    """Return sessions without a wake that have queued items. There should be none."""
    return [pk for (pk,) in _FORGOTTEN.rows()]


_QUEUED_ITEMS = InboxItem.objects.filter(session=OuterRef("pk"), state=InboxState.QUEUED)
_FORGOTTEN = Prepared(
    lambda: (
        Session.objects.filter(
            ~Exists(_LIVE), Exists(_QUEUED_ITEMS), state=SessionState.ACTIVE, wake_at__isnull=True
        )
        .order_by("pk")
        .values_list("pk")[:BATCH]
    ),
    of=(),
)


@transaction.atomic
def _wake_forgotten(session_id: int) -> bool:
    """Wake a session whose queued items nothing else would handle. A second line of defence."""
    session = _lock_if_free(session_id)
    if session is None or session.wake_at is not None or not inbox.has_waiting_items(session):
        return False
    only_mail = not session.inbox.filter(state=InboxState.QUEUED).exclude(kind=InboxKind.MAIL)
    wakes.wake_session(session, Cause.MAIL if only_mail else Cause.HUMAN)
    next_run.queue_next_run(session)
    return True


def _enqueue_dropped_runs() -> int:
    return _enqueue() if _dropped_runs() else 0


@transaction.atomic
def _enqueue() -> int:
    """Enqueue a job for each run that has lost its job; return their number."""
    # Only one worker at a time, which looks again: two workers would enqueue a job each.
    ((alone,),) = query("SELECT pg_try_advisory_xact_lock(hashtext('agents.jobs.tick'))")
    dropped = _dropped_runs() if alone else []
    for run_id in dropped:
        queue.enqueue_run(run_id)
    return len(dropped)


def _dropped_runs() -> list[int]:
    return [pk for (pk,) in query(_RUNS_WITHOUT_A_JOB, queue.DISPATCH, BATCH)]
