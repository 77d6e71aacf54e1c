"""The only writer of a run's status and of a session's standing. Both under the session's lock."""

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
    """A run was asked to move along no edge of the table."""


def move_run(session: LockedSession, run: Run, to: RunStatus, **fields: object) -> None:
    """Move a run of a locked session, with fields that change in the same statement.

    Raises IllegalMove.
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
    """The one live run of a locked session."""
    return _LIVE.first(session.pk)


_LIVE = Prepared(lambda pk: Run.objects.filter(session=pk, status__in=LIVE_RUNS))


def release_waiting_run(session: LockedSession) -> None:
    """Let a run that waits for a person go on; its asks stay open and answerable."""
    run = live_run(session)
    if run is not None and run.status == RunStatus.WAITING_HUMAN:
        move_run(session, run, RunStatus.CONTINUED)


def store_status(session: LockedSession, live: Run | None) -> None:
    """Store the standing that a locked session has now, with every other changed fact of it.

    ``live`` is its live run.
    """
    session.moved_at = session.locked_at
    found, before = derive_status(status_facts(session, live)), session.status
    session.status, session.status_reason = found.status, found.reason
    statements.update(session, _FACTS)
    if Status.BLOCKED in (found.status, before) and found.status != before:
        notify.notify_owners_changed(session.agent_id)
    if found.status == Status.BLOCKED != before:
        listeners.announce_events(session, [_blocked(session)])


def _blocked(session: Session) -> Event:
    """What is announced of a session that has come to be blocked. It is no event of its log."""
    return Event(
        session=session,
        seq=session.last_seq,
        kind="blocked",
        actor=actors.agent(session.agent),
        text=session.status_reason,
    )


def status_facts(session: Session, live: Run | None) -> StatusFacts:
    """What the session's status depends on, as of ``moved_at``."""
    return StatusFacts(
        agent_state=session.agent.lifecycle,
        session_state=session.state,
        state_reason=session.state_reason,
        live_run=live.status if live else "",
        open_asks=session.open_asks,
        wake_at=session.wake_at,
        wake_cause=session.wake_cause,
        idle_streak=session.idle_streak,
        error_streak=session.error_streak,
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
    "idle_streak",
    "error_streak",
    "last_outcome",
    "run_count",
    "gate_count",
    "open_asks",
    "external_id",
    "data",
    "requested_by",
    "last_seq",
]
