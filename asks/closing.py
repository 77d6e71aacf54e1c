"""Close an ask, for whatever reason, and continue its session.

When the last open ask of a run closes, the waiting run continues and the session wakes with the cause
"human", all in the caller's transaction. An answer always wakes its session. While an answer can still
be taken back, its run goes on waiting for it (see ``asks.undo.holding``).
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents import next_run, transitions, wakes
from agents.db import statements
from agents.events.log import record_event
from agents.lifecycle import LIVE_RUNS, Cause, RunStatus
from agents.locking import LockedSession
from agents.models import Run
from asks.ledger import chain
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict
from asks.queue import hints

_CLOSING = ["status", "closed_at", "closed_by", "close_reason", "superseded_by"]
_ANSWERED = [*_CLOSING, "verdict"]
_REOPENED = [*_ANSWERED, "retracted", "card_version"]


def close_ask(
    session: LockedSession,
    ask: Ask,
    status: AskStatus,
    *,
    by: AbstractBaseUser | None = None,
    reason: str = "",
    replaced_by: Ask | None = None,
) -> None:
    """Close an open ask without an answer, and release its run if this was the run's last open ask.

    ``ask.run`` must have been read under the lock. Call ``continue_session`` or ``store_status`` next.
    """
    _close(session, ask, status, by=by, reason=reason, replaced_by=replaced_by)
    statements.update(ask, _CLOSING)
    chain.append_closing(ask)
    release_run(session, ask.run)
    hints.notify_queues(ask)


def close_answered(
    session: LockedSession, ask: Ask, verdict: Verdict, *, by: AbstractBaseUser
) -> None:
    """Close an open ask with its verdict. Its run waits on until the verdict takes effect."""
    _close(session, ask, AskStatus.ANSWERED, by=by)
    ask.verdict = verdict
    statements.update(ask, _ANSWERED)
    hints.notify_queues(ask)


def reopen_ask(session: LockedSession, ask: Ask) -> None:
    """Open an answered ask again, because its verdict was taken back before it took effect."""
    ask.status, ask.closed_at, ask.closed_by, ask.close_reason = AskStatus.OPEN, None, None, ""
    ask.verdict, ask.retracted, ask.card_version = None, ask.retracted + 1, ask.card_version + 1
    statements.update(ask, _REOPENED)
    session.open_asks += 1
    hints.notify_queues(ask)


def _close(
    session: LockedSession,
    ask: Ask,
    status: AskStatus,
    *,
    by: AbstractBaseUser | None = None,
    reason: str = "",
    replaced_by: Ask | None = None,
) -> None:
    ask.status, ask.closed_at, ask.close_reason = status, session.locked_at, reason
    ask.closed_by_id = by.pk if by else None
    ask.superseded_by, ask.agent = replaced_by, session.agent
    session.open_asks -= 1


def supersede_ask(session: LockedSession, old: Ask, fresh: Ask, *, why: str) -> None:
    """Close an open ask because another one replaces it."""
    close_ask(session, old, AskStatus.SUPERSEDED, reason=why, replaced_by=fresh)
    record_event(
        session,
        "superseded",
        actor="system",
        run=old.run,
        text=_("{why} It is asked again.").format(why=why),
        data={"ask_id": old.pk, "replaced_by": fresh.pk},
    )


def release_run(session: LockedSession, run: Run) -> None:
    """Count one ask less that a run waits for. Continue the run if it waited for its last one."""
    left = run.open_asks - 1
    if left == 0 and run.status == RunStatus.WAITING_HUMAN:
        transitions.move_run(session, run, RunStatus.CONTINUED, open_asks=0)
    else:
        run.open_asks = left
        statements.update(run, ["open_asks"])


def continue_session(session: LockedSession, ask: Ask) -> Run | None:
    """Wake a session by its owner, unless the ask's run still waits for other answers.

    Return the run that was queued, if any.
    """
    wake_for_ask(session, ask)
    return next_run.queue_next_run(session)


def wake_for_ask(session: LockedSession, ask: Ask) -> None:
    """Wake a session whose ask is over, unless the ask's run waits on. Call ``queue_next_run`` next.

    An ask that outlived its run starts a new run, even if another run waits for something else.
    """
    run = ask.run
    just_released = run.ended_at == session.locked_at
    if run.status not in LIVE_RUNS and not just_released:
        transitions.release_waiting_run(session)
    if run.status not in LIVE_RUNS or not run.open_asks:
        wakes.wake_session(session, Cause.HUMAN)
