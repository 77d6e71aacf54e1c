"""Claim a run, renew the claim, write events under it, and return the run to the queue.

A worker claims a queued run by raising its epoch and taking a lease. Once the lease has expired, any
other worker may take the run over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from agents import inbox, next_run, transitions, wakes
from agents.db import statements
from agents.db.statements import Prepared
from agents.events.log import NewEvent, record_event, record_events
from agents.jobs import queue
from agents.lifecycle import RunStatus
from agents.locking import LockedRun, LockedSession, lock_run, lock_session
from agents.models import Run, Session
from agents.running.runtime import AgentFacts, Fence, Given, Turn
from agents.text.storable import make_storable

HISTORY = 12
WORKER_NAME = 120
HISTORY_KINDS = (
    "report",
    "summary",
    "notice",
    "message",
    "mail",
    "asked",
    "verdict",
    "withdrawn",
    "expired",
    "superseded",
    "grant_ended",
)
_RECENTLY = """
SELECT actor, kind, left(text, 200) FROM agents_event
WHERE session_id = %s AND run_id IS DISTINCT FROM %s AND kind = ANY(%s)
ORDER BY seq DESC LIMIT %s
"""


class ClaimLost(Exception):
    """Another worker has taken over the run, or a person has stopped it."""


def lease_duration() -> timedelta:
    """Return how long a claim lasts without a renewal."""
    return timedelta(seconds=settings.RUN_LEASE_SECONDS)


@transaction.atomic
def claim_run(*, run_id: int, worker: str, again: bool = False) -> Turn | None:
    """Claim a queued run, or a run whose lease has expired; return None if neither is the case.

    Pass ``again`` when a first attempt may have been committed without its result arriving: a run
    that this worker already holds is then returned once more.
    """
    run = lock_run(run_id)
    if run is None:
        return None
    session, now = run.session, run.session.locked_at
    if again and run.status == RunStatus.RUNNING and run.worker == worker[:WORKER_NAME]:
        return _turn(session, run, inbox.lease_items(run))
    if not _claimable(session, run, now):
        return None
    transitions.move_run(
        session,
        run,
        RunStatus.RUNNING,
        epoch=run.epoch + 1,
        worker=worker[:WORKER_NAME],
        lease_until=now + lease_duration(),
        started_at=run.started_at or now,
    )
    wakes.clear_due_wake(session)
    record_event(session, "started", actor="system", data=_start_of(run), run=run)
    given = inbox.lease_items(run)
    transitions.store_status(session, run)
    return _turn(session, run, given)


def peek_turn(session: Session) -> Turn:
    """Return the turn that a session would take now, without claiming or leasing anything."""
    number = session.run_count + 1
    run = Run(pk=0, session=session, number=number, cause=session.wake_cause)
    return _turn(session, run, inbox.peek_items(session))


def _claimable(session: LockedSession, run: Run, now: datetime) -> bool:
    if wakes.is_held(session):
        return False
    if run.status == RunStatus.QUEUED:
        return next_run.may_work(session)
    return run.status == RunStatus.RUNNING and run.lease_until is not None and run.lease_until < now


def _start_of(run: Run) -> dict[str, object]:
    facts = {"cause": run.cause, "epoch": run.epoch, "worker": run.worker}
    return {**facts, "again": run.epoch > 1}


def _turn(session: Session, run: Run, given: list[Given]) -> Turn:
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
        given=tuple(given),
        last_outcome=session.last_outcome,
        failures=session.error_streak,
        history=_history(session, before_run=run),
        external_id=session.external_id,
        session_data=session.data,
        left_behind=run.process,
    )


def _history(session: Session, *, before_run: Run) -> tuple[str, ...]:
    recent = statements.query(_RECENTLY, session.pk, before_run.pk, list(HISTORY_KINDS), HISTORY)
    return tuple(f"{actor} [{kind}]: {text}" for actor, kind, text in reversed(recent))


def renew_claim(fence: Fence, *, process: dict[str, object] | None = None) -> bool:
    """Renew a claim; return False if it is lost. One guarded statement, so no lock is needed."""
    changes: dict[str, object] = {"lease_until": Now() + lease_duration()}
    if process is not None:
        changes["process"] = process
    return bool(held(fence).update(**changes))


def held(fence: Fence) -> QuerySet[Run]:
    """Return a query for the run of a claim. It is empty once the claim is lost."""
    return Run.objects.filter(pk=fence.run_id, epoch=fence.epoch, status=RunStatus.RUNNING)


def held_run(fence: Fence) -> Run | None:
    """Return the run of a claim, or None once the claim is lost."""
    return _HELD.first(fence.run_id, fence.epoch)


_HELD = Prepared(
    lambda pk, epoch: Run.objects.filter(pk=pk, epoch=epoch, status=RunStatus.RUNNING),
    of=(int, int),
)


def lock_claimed_run(fence: Fence) -> LockedRun | None:
    """Lock the run of a claim and its session; return the run, or None once the claim is lost."""
    run = lock_run(fence.run_id)
    holds = run is not None and (run.epoch, run.status) == (fence.epoch, RunStatus.RUNNING)
    return run if holds else None


@transaction.atomic
def return_run(fence: Fence) -> bool:
    """Return an unfinished run to the queue when its worker shuts down. False if the claim is lost.

    If the session or its agent was paused meanwhile, no worker would claim the run: cancel it and
    restore its wake instead.
    """
    session = lock_session(fence.session_id)
    run = held_run(fence)
    if run is None:
        return False
    if next_run.may_work(session):
        transitions.move_run(session, run, RunStatus.QUEUED, worker="")
        queue.enqueue_run(run.pk)
        transitions.store_status(session, run)
    else:
        next_run.cancel_run(session, run)
        transitions.store_status(session, None)
    return True


@transaction.atomic
def append_events(fence: Fence, new: Sequence[NewEvent]) -> bool:
    """Write the events of a turn; write nothing and return False if the claim is lost.

    The call may be repeated if each event has a ``once_key``: no event is stored twice.
    """
    run = lock_claimed_run(fence)
    if run is None:
        return False
    record_events(run.session, new, run=run)
    if (usage := sum_usage(new)) is not None:
        Run.objects.filter(pk=run.pk).update(usage=usage)
    return True


def sum_usage(new: Sequence[NewEvent]) -> dict[str, object] | None:
    """Return the data of the last usage event; None if there is none."""
    usage = next((event.data for event in reversed(new) if event.kind == "usage"), None)
    return None if usage is None else make_storable(usage)
