"""Settle a turn: write its last events, send its mail, raise its asks and settle its inbox items.

Everything happens in one transaction under the session's lock. A lost claim changes nothing. A wake
that a person caused since the claim is always kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from agents import actors, claims, inbox, lanes, mail, next_run, transitions, wakes
from agents.events.log import NewEvent, record_event, record_events
from agents.lifecycle import COMPLETED_OUTCOMES, Cause, Outcome, RunStatus, SessionState
from agents.locking import LockedSession
from agents.models import Run, Session
from agents.running import runtime
from agents.running.runtime import Ended, Fence
from agents.text.storable import make_storable

REPORT_LIMIT = 16_000
ERROR_LIMIT = 16_000
EXTERNAL_ID_LIMIT = 200
#: After so many failures in a row a person is asked to act.
FAILING_AFTER = 3


@transaction.atomic
def settle_run(fence: Fence, ended: Ended, last: Sequence[NewEvent] = ()) -> bool:
    """End the run of a claim and store its ``last`` events. Change nothing and return False if lost."""
    locked = mail.lock_with_recipients(fence.session_id, ended.mails)
    session = locked[fence.session_id]
    run = claims.held_run(fence)
    if run is None:
        return False
    record_events(session, last, run=run)
    _file_report(session, run, ended)
    more_waits = _settle_inbox(session, run, ended, locked)
    _store_protocol_facts(session, run, ended)
    _decide_next_wake(session, ended, more_waits=more_waits)
    _decide_failing(session, ended)
    _end_run(session, run, ended, last)
    _decide_next_run(session, run, ended)
    return True


def _settle_inbox(
    session: LockedSession, run: Run, ended: Ended, locked: dict[int, LockedSession]
) -> bool:
    """Send the turn's mail, raise its asks, and settle the inbox items that it was given.

    Return whether more items wait for the session. After a failed turn this is always False: the
    back-off decides when the session starts again.
    """
    if ended.outcome in COMPLETED_OUTCOMES:
        mail.send_mails(session, run, ended.mails, locked)
        runtime.raise_asks(session, run, ended.asks)
        return inbox.acknowledge_items(run)
    if ended.outcome == Outcome.RATE_LIMITED:
        inbox.release_items(run)
    else:
        inbox.return_failed_items(session, run)
    return False


def _decide_next_run(session: LockedSession, run: Run, ended: Ended) -> None:
    """Store the session's status after its run has ended, and queue its next run if it is due."""
    if ended.give_up and run.status == RunStatus.FAILED:
        _give_up(session, run)
    if run.status == RunStatus.WAITING_HUMAN:
        transitions.store_status(session, run)
    else:
        next_run.queue_next_run(session)


def _give_up(session: LockedSession, run: Run) -> None:
    """Pause the session, unless a person has woken it meanwhile."""
    if wakes.is_woken_by_human(session):
        return
    times = "once" if session.error_streak == 1 else f"{session.error_streak} times in a row"
    session.state = SessionState.PAUSED
    session.state_reason = f"Given up after it failed {times}. A person tries it again."
    record_event(session, "state", actor="system", run=run, text=session.state_reason)


def _file_report(session: LockedSession, run: Run, ended: Ended) -> None:
    if text := ended.report.strip()[:REPORT_LIMIT]:
        record_event(session, "summary", actor=actors.agent(session.agent), run=run, text=text)
    if ended.error:
        record_event(session, "error", actor="system", run=run, text=ended.error[:ERROR_LIMIT])


def _store_protocol_facts(session: LockedSession, run: Run, ended: Ended) -> None:
    """Store what the protocol needs later. Ignore an external id that another session already has."""
    if ended.keep is not None:
        ended.keep(session.pk, run.pk)
    if ended.session_data is not None:
        session.data = make_storable(ended.session_data)
    name = make_storable(ended.external_id)[:EXTERNAL_ID_LIMIT]
    if not name or name == session.external_id:
        return
    if session.agent.sessions.filter(external_id=name).exists():
        why = "another session has this name already"
        record_event(session, "ignored", actor="system", run=run, text=name, data={"why": why})
    else:
        session.external_id = name


def _decide_next_wake(session: LockedSession, ended: Ended, *, more_waits: bool) -> None:
    limit_passes_at = _limit_passes_at(session, ended.retry_at)
    if ended.outcome == Outcome.RATE_LIMITED:
        lanes.block_lane(session, limit_passes_at, reason=ended.error)
    wakes.set_wake_after_turn(session, ended.outcome, limit_passes_at=limit_passes_at)
    if more_waits:
        wakes.wake_session(session, Cause.MAIL)


def _decide_failing(session: LockedSession, ended: Ended) -> None:
    """Decide whether the failures of a session are a matter for its owner. A success ends that."""
    failed = ended.outcome == Outcome.RETRYABLE_ERROR
    given_up = ended.give_up and not ended.caller_knows
    keeps_failing = session.error_streak >= FAILING_AFTER
    failing = failed and (ended.cannot_start or given_up or keeps_failing)
    transitions.set_failing(session, failing=failing, why=ended.error[:ERROR_LIMIT])


def _limit_passes_at(session: LockedSession, retry_at: datetime | None) -> datetime:
    """Return when to try again after a rate limit."""
    if retry_at is None:
        return session.locked_at + wakes.LIMIT_PASSES_AFTER
    if retry_at.tzinfo is None:
        retry_at = retry_at.replace(tzinfo=UTC)
    # A time in the past would restart the session in a tight loop.
    return max(retry_at, session.locked_at + wakes.ERROR_BASE)


def _end_run(session: LockedSession, run: Run, ended: Ended, last: Sequence[NewEvent]) -> None:
    """Move the run to its end status, and record its outcome, error and usage."""
    to = _end_status(session, run, ended.outcome)
    facts: dict[str, Any] = {
        "outcome": ended.outcome,
        "error": make_storable(ended.error[:ERROR_LIMIT]),
        "process": {},
    }
    if (usage := claims.sum_usage(last)) is not None:
        facts["usage"] = usage
    transitions.move_run(session, run, to, **facts)
    if to == RunStatus.WAITING_HUMAN:
        wakes.rest_session(session, wakes.resting_cause(session))
    record_event(
        session,
        "ended",
        actor="system",
        run=run,
        data={"outcome": ended.outcome, "status": to, "open_asks": run.open_asks},
    )


def _end_status(session: Session, run: Run, outcome: Outcome) -> RunStatus:
    if outcome not in COMPLETED_OUTCOMES:
        return RunStatus.FAILED
    if run.open_asks and not wakes.is_woken_by_human(session):
        return RunStatus.WAITING_HUMAN
    if run.open_asks or (outcome == Outcome.BLOCKED and wakes.is_woken_by_human(session)):
        return RunStatus.CONTINUED
    return RunStatus.COMPLETED
