"""Queues the next run of a session: when it is due, may work, and nothing of it is live."""

from __future__ import annotations

from datetime import datetime

from agents import inbox, transitions, wakes
from agents.db import statements
from agents.jobs import queue
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import LockedSession
from agents.models import Lane, Run, Session


def queue_next_run(session: LockedSession) -> Run | None:
    """Queue the next run of a locked session if it is due, and store its standing; the run, if any.

    Every verb that changes a session ends with this, or with ``moves.restate`` when nothing of it
    can have become due.
    """
    live = transitions.live_run(session)
    queued = None if live else _queue_if_due(session)
    transitions.store_status(session, live or queued)
    return queued


def may_work(session: Session) -> bool:
    return session.state == SessionState.ACTIVE and session.agent.lifecycle == AgentState.ACTIVE


def cancel_run(session: LockedSession, run: Run) -> None:
    """Cancel a run that has not ended its turn: its wake stands again, and all it was given is owed."""
    inbox.release_items(run)
    transitions.move_run(session, run, RunStatus.CANCELLED)
    wakes.wake_session(session, Cause(run.cause))


def set_requester(session: Session, person_id: int | None) -> None:
    """Remember for whom a locked session works from now on: who started it, or wrote to it last.

    Stored with its standing, by ``queue_next_run``.
    """
    session.requested_by_id = person_id


def _queue_if_due(session: LockedSession) -> Run | None:
    if session.wake_at is None or session.wake_at > session.locked_at or not may_work(session):
        return None
    if session.wake_cause != Cause.HUMAN and (until := _lane_blocked_until(session)):
        wakes.defer_wake(session, until)
        return None
    session.run_count += 1
    cause = wakes.consume_wake(session)
    if cause == Cause.SCHEDULE:
        set_requester(session, None)
    run = statements.insert(
        Run(
            session=session,
            number=session.run_count,
            cause=cause,
            requested_by_id=session.requested_by_id,
        )
    )
    queue.enqueue_run(run.pk)
    return run


def _lane_blocked_until(session: LockedSession) -> datetime | None:
    if not session.agent.lane:
        return None
    blocked = Lane.objects.filter(
        name=session.agent.lane, blocked_until__gt=session.locked_at
    ).first()
    return blocked.blocked_until if blocked else None
