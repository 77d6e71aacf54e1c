"""Queue the next run of a session if the session is due, may work, is not held and has no live run.

A person can take an answer back for some seconds. Meanwhile its session is held: no run is queued or
claimed, whatever wakes it. The row says until when (``held_until``); a job for that moment and the
sweep of ``agents.jobs.tick`` both lead here, where what was held takes effect first.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from agents import inbox, transitions, wakes
from agents.db import statements
from agents.jobs import queue
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import LockedSession
from agents.models import Lane, Run, Session

Releaser = Callable[[LockedSession], None]
_releasers: list[Releaser] = []


def register_releaser(releaser: Releaser) -> None:
    """Call a function of a layer above with each session whose hold is over, under its lock.

    It lets everything that was held take effect. Registering it again does nothing.
    """
    if releaser not in _releasers:
        _releasers.append(releaser)


def hold_session(session: LockedSession, until: datetime) -> None:
    """Start nothing in a session before a time, or before a later time that is set already."""
    session.held_until = max(until, session.held_until or until)
    queue.enqueue_session(session.pk, at=session.held_until)


def release_held(session: LockedSession) -> None:
    """Let everything that a session holds take effect, whether or not its time has come."""
    session.held_until = None
    for release in _releasers:
        release(session)


def queue_next_run(session: LockedSession) -> Run | None:
    """Queue the next run of a session if it is due, and store its status; return the run, if any.

    Call this last in every verb that changes a session; call ``transitions.store_status`` instead if
    no run can have become due.
    """
    if session.held_until is not None and not wakes.is_held(session):
        release_held(session)
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
    if wakes.is_held(session):
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
