"""Queue the next run of a session if the session is due, may work and has no live run."""

from __future__ import annotations

from datetime import datetime

from agents import inbox, transitions, wakes
from agents.db import statements
from agents.jobs import queue
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import LockedSession
from agents.models import Lane, Run, Session


def queue_next_run(session: LockedSession) -> Run | None:
    """Queue the next run of a session if it is due, and store its status; return the run, if any.

    Call this last in every verb that changes a session; call ``transitions.store_status`` instead if
    no run can have become due.
    """
    live = transitions.live_run(session)
    queued = None if live else _queue_if_due(session)
    transitions.store_status(session, live or queued)
    return queued


def may_work(session: Session) -> bool:
    """Whether both the session and its agent are active."""
    return session.state == SessionState.ACTIVE and session.agent.lifecycle == AgentState.ACTIVE


def cancel_run(session: LockedSession, run: Run) -> None:
    """Cancel a run that has not ended its turn. Restore its wake and requeue its inbox items."""
    inbox.release_items(run)
    transitions.move_run(session, run, RunStatus.CANCELLED)
    wakes.wake_session(session, Cause(run.cause))


def set_requester(session: LockedSession, person_id: int | None) -> None:
    """Set the requester of a session: the person who started it or wrote to it last, or nobody.

    ``queue_next_run`` stores it.
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
    lane = Lane.objects.filter(name=session.agent.lane, blocked_until__gt=session.locked_at).first()
    return lane.blocked_until if lane else None
