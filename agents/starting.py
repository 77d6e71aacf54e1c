"""How a run comes to be and who carries it: queue, claim, renew, give back.

A run is queued when a session is due and nothing of it is live. A worker claims it by raising its
epoch under a lease; a claim whose lease has run out may be taken over by any other worker.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from agents import clock, events, inbox, moves, tasks, waking
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import lock_session
from agents.models import Lane, Run, Session
from agents.runtime import AgentFacts, Fence, Turn

HISTORY = 12
HISTORY_KINDS = ("report", "summary", "notice", "message", "mail", "asked", "verdict")


class ClaimLost(Exception):
    """Another worker has taken the run over, or a person stopped it."""


def lease() -> timedelta:
    return timedelta(seconds=settings.RUN_LEASE_SECONDS)


def queue_if_due(session: Session, *, now: datetime | None = None) -> Run | None:
    """Queue the next run of a locked session if it is due and may work, and wake a worker.

    The caller restates the session afterwards.
    """
    now = now or clock.now()
    if session.wake_at is None or session.wake_at > now or not may_work(session):
        return None
    if moves.live_run(session) is not None:
        return None
    if session.wake_cause != Cause.HUMAN and (until := _lane_blocked_until(session, now)):
        waking.defer(session, until)
        return None
    return _queue(session)


def _queue(session: Session) -> Run:
    session.run_count += 1
    run = Run.objects.create(
        session=session, number=session.run_count, cause=waking.consume(session)
    )
    tasks.enqueue(run.pk)
    return run


def may_work(session: Session) -> bool:
    return (
        session.state == SessionState.ACTIVE and session.agent.lifecycle == AgentState.ACTIVE
    )


def _lane_blocked_until(session: Session, now: datetime) -> datetime | None:
    if not session.agent.lane:
        return None
    lane = Lane.objects.filter(name=session.agent.lane, blocked_until__gt=now).first()
    return lane.blocked_until if lane else None


@transaction.atomic
def claim(*, run_id: int, worker: str) -> Turn | None:
    """Take a queued run, or one whose lease ran out. None when there is nothing to take."""
    found = Run.objects.filter(pk=run_id).values_list("session_id", flat=True).first()
    if found is None:
        return None
    session = lock_session(found)
    run = Run.objects.get(pk=run_id)
    now = clock.now()
    if not _claimable(session, run, now):
        return None
    left_behind = run.process
    first = run.epoch == 0
    moves.move(
        run,
        RunStatus.RUNNING,
        epoch=run.epoch + 1,
        worker=worker[:120],
        lease_until=now + lease(),
        process={},
        started_at=run.started_at or now,
    )
    given = inbox.lease_to(run)
    _say_started(session, run, first=first, worker=worker)
    moves.restate(session)
    return _turn(session, run, given, left_behind)


def _claimable(session: Session, run: Run, now: datetime) -> bool:
    if run.status == RunStatus.QUEUED:
        return may_work(session)
    return (
        run.status == RunStatus.RUNNING and run.lease_until is not None and run.lease_until < now
    )


def _say_started(session: Session, run: Run, *, first: bool, worker: str) -> None:
    events.record(
        session,
        "started",
        actor="system",
        run=run,
        data={"cause": run.cause, "epoch": run.epoch, "worker": worker, "again": not first},
    )


def _turn(
    session: Session, run: Run, given: list[inbox.Owed], left_behind: dict[str, object]
) -> Turn:
    agent = session.agent
    return Turn(
        run_id=run.pk,
        session_id=session.pk,
        number=run.number,
        epoch=run.epoch,
        cause=run.cause,
        agent=AgentFacts(
            agent.slug,
            agent.name,
            agent.title,
            agent.mission,
            agent.contract,
            agent.runtime,
            agent.settings,
        ),
        given=tuple(item.given for item in given),
        last_outcome=session.last_outcome,
        history=_history(session, before_run=run),
        external_id=session.external_id,
        session_data=session.data,
        left_behind=left_behind,
    )


def _history(session: Session, *, before_run: Run) -> tuple[str, ...]:
    recent = (
        session.events.filter(kind__in=HISTORY_KINDS)
        .exclude(run=before_run)
        .order_by("-seq")[:HISTORY]
    )
    return tuple(f"{event.actor} [{event.kind}]: {event.text[:200]}" for event in reversed(recent))


def renew(fence: Fence, *, process: dict[str, object] | None = None) -> bool:
    """Prolong a claim; False when it is lost. One guarded statement, so it needs no lock."""
    changes: dict[str, object] = {"lease_until": Now() + lease()}
    if process is not None:
        changes["process"] = process
    return bool(held(fence).update(**changes))


def held(fence: Fence) -> QuerySet[Run]:
    """The run while the claim holds, nothing once it is lost."""
    return Run.objects.filter(pk=fence.run_id, epoch=fence.epoch, status=RunStatus.RUNNING)


@transaction.atomic
def give_back(fence: Fence) -> bool:
    """Return a run unfinished to the queue, for a worker that shuts down."""
    session = lock_session(fence.session_id)
    run = held(fence).first()
    if run is None:
        return False
    moves.move(run, RunStatus.QUEUED, worker="")
    tasks.enqueue(run.pk)
    moves.restate(session)
    return True


@transaction.atomic
def append(fence: Fence, new: list[events.NewEvent]) -> bool:
    """Write what happened in a turn, if the claim still holds."""
    session = lock_session(fence.session_id)
    run = held(fence).first()
    if run is None:
        return False
    events.record_all(session, new, run=run)
    return True
