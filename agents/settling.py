"""Ends a turn: what it said lands, what it asks is raised, what it was given is settled.

All in one transaction under the session's lock. A claim that is lost changes nothing. A wake that a
human caused since the claim always stands.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from agents import clock, events, inbox, lanes, mail, moves, runtime, starting, waking
from agents.lifecycle import COMPLETED_OUTCOMES, Cause, Outcome, RunStatus
from agents.models import Run, Session
from agents.runtime import Ended, Fence

REPORT_LIMIT = 16_000


@transaction.atomic
def settle(fence: Fence, ended: Ended) -> bool:
    """End the run of this claim. False, and nothing changed, when the claim is lost."""
    locked = mail.lock_with_recipients(fence.session_id, ended.mails)
    session = locked[fence.session_id]
    run = starting.held(fence).first()
    if run is None:
        return False
    now = clock.now()
    _file_report(session, run, ended)
    if ended.outcome in COMPLETED_OUTCOMES:
        mail.send_all(session, run, ended.mails, locked)
        runtime.raise_asks(session, run, ended.asks)
        run.refresh_from_db(fields=["open_asks"])
        inbox.carried(run)
    else:
        inbox.owed_again(session, run)
    _decide_next_wake(session, ended, now)
    _end(session, run, ended)
    starting.queue_if_due(session)
    moves.restate(session)
    return True


def _file_report(session: Session, run: Run, ended: Ended) -> None:
    if ended.report.strip():
        text = ended.report.strip()[:REPORT_LIMIT]
        events.record(session, "summary", actor=_agent(session), run=run, text=text)
    if ended.error:
        events.record(session, "error", actor="system", run=run, text=ended.error)


def _decide_next_wake(session: Session, ended: Ended, now: datetime) -> None:
    if ended.outcome == Outcome.RATE_LIMITED:
        until = ended.retry_at or now + waking.LIMIT_PASSES_AFTER
        lanes.block(session, until, reason=ended.error)
    waking.after_turn(session, ended.outcome, now=now, retry_at=ended.retry_at)
    if ended.outcome in COMPLETED_OUTCOMES and inbox.waits(session):
        waking.wake(session, Cause.MAIL, now)
    if ended.session_data is not None:
        session.data = ended.session_data
    if ended.external_id:
        session.external_id = ended.external_id


def _end(session: Session, run: Run, ended: Ended) -> None:
    """Where the run goes: failed, waiting for a person, on with a person's answer, or completed."""
    to = _end_status(session, run, ended.outcome)
    moves.move(run, to, outcome=ended.outcome, error=ended.error, process={})
    if to == RunStatus.WAITING_HUMAN:
        waking.rest(session, waking.resting_cause(session))
    events.record(
        session,
        "ended",
        actor="system",
        run=run,
        data={"outcome": ended.outcome, "status": to, "open_asks": run.open_asks},
    )


def _end_status(session: Session, run: Run, outcome: Outcome) -> RunStatus:
    if outcome not in COMPLETED_OUTCOMES:
        return RunStatus.FAILED
    if run.open_asks and not waking.woken_by_human(session):
        return RunStatus.WAITING_HUMAN
    if run.open_asks or (outcome == Outcome.BLOCKED and waking.woken_by_human(session)):
        return RunStatus.CONTINUED
    return RunStatus.COMPLETED


def _agent(session: Session) -> str:
    return f"agent:{session.agent.slug}"
