"""Change the status of runs and sessions. No other module writes them; the session must be locked."""

from __future__ import annotations

from agents import actors
from agents.db import statements
from agents.db.statements import Prepared
from agents.events import listeners, notify
from agents.lifecycle import LIVE_RUNS, RUN_MOVES, RunStatus, Status
from agents.locking import LockedSession
from agents.models import Event, Run, Session
from agents.status import StatusFacts, derive_status


class IllegalTransition(Exception):
    """The requested status change of a run is not in ``RUN_MOVES``."""


def move_run(session: LockedSession, run: Run, to: RunStatus, **fields: object) -> None:
    """Change a run's status, and other fields of the run in the same statement.

    Raises IllegalTransition.
    """
    if to not in RUN_MOVES[RunStatus(run.status)]:
        raise IllegalTransition(f"Run {run.pk} cannot go from {run.status} to {to}.")
    if to != RunStatus.RUNNING:
        fields["lease_until"] = None
    if to not in LIVE_RUNS:
        fields["ended_at"] = session.locked_at
    fields["status"] = to
    for name, value in fields.items():
        setattr(run, name, value)
    statements.update(run, list(fields))


def live_run(session: Session) -> Run | None:
    """Return the live run of a session, if any. There is at most one."""
    return _LIVE.first(session.pk)


_LIVE = Prepared(lambda pk: Run.objects.filter(session=pk, status__in=LIVE_RUNS))


def release_waiting_run(session: LockedSession) -> None:
    """End the wait of a run that waits for a person. Its asks stay open and can be answered."""
    run = live_run(session)
    if run is not None and run.status == RunStatus.WAITING_HUMAN:
        move_run(session, run, RunStatus.CONTINUED)


def store_status(session: LockedSession, live: Run | None) -> None:
    """Derive a session's status and store it, together with all its other changed fields.

    ``live`` is the session's live run. Announce a session that becomes blocked.
    """
    session.moved_at = session.locked_at
    derived, before = derive_status(status_facts(session, live)), session.status
    session.status, session.status_reason = derived.status, derived.reason
    statements.update(session, _FACTS)
    if Status.BLOCKED in (derived.status, before) and derived.status != before:
        notify.notify_owners_changed(session.agent_id)
    if derived.status == Status.BLOCKED != before:
        listeners.announce_events(session, [_blocked(session, session.status_reason)])


def set_failing(session: LockedSession, *, failing: bool, why: str = "") -> None:
    """Store in memory whether a person must act on a session's failures; ``why`` is its last error.

    Announce a session that begins to fail, once: its retries do not announce it again.
    """
    if session.is_failing == failing:
        return
    session.failing_since = session.locked_at if failing else None
    notify.notify_owners_changed(session.agent_id)
    if failing:
        listeners.announce_events(session, [_blocked(session, why)])


def _blocked(session: Session, why: str) -> Event:
    """Return the event to announce when a session needs its owner. It is not stored in the log."""
    return Event(
        session=session,
        seq=session.last_seq,
        kind="blocked",
        actor=actors.agent(session.agent),
        text=why,
    )


def status_facts(session: Session, live: Run | None) -> StatusFacts:
    """Return what the session's status depends on, at the moment ``moved_at``."""
    return StatusFacts(
        agent_state=session.agent.lifecycle,
        session_state=session.state,
        state_reason=session.state_reason,
        live_run=live.status if live else "",
        open_asks=session.open_asks,
        wake_at=session.wake_at,
        wake_cause=session.wake_cause,
        held=session.held_until is not None and session.held_until > session.moved_at,
        idle_streak=session.idle_streak,
        error_streak=session.error_streak,
        failing=session.is_failing,
        now=session.moved_at,
    )


_FACTS = [
    "state",
    "state_reason",
    "status",
    "status_reason",
    "moved_at",
    "wake_at",
    "wake_cause",
    "held_until",
    "idle_streak",
    "error_streak",
    "failing_since",
    "last_outcome",
    "run_count",
    "gate_count",
    "open_asks",
    "external_id",
    "data",
    "requested_by",
    "last_seq",
]
