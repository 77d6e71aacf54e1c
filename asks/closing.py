"""What follows when an ask is closed, however it is closed.

When the last open ask of a run closes, the run that waited goes on and the session wakes because of
a person, all in the caller's transaction: an answer without its wake cannot be.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser

from agents import clock, inbox, moves, starting
from agents.lifecycle import LIVE_RUNS, RunStatus
from agents.models import Run, Session
from asks import ledger
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.raising import tell_owners


def close(
    session: Session,
    ask: Ask,
    status: AskStatus,
    *,
    by: AbstractBaseUser | None = None,
    reason: str = "",
) -> None:
    """Close an open ask of a locked session; its run is released if nothing of it is open any more."""
    ask.status, ask.closed_at, ask.close_reason = status, clock.now(), reason
    ask.closed_by_id = by.pk if by else None
    ask.save(update_fields=["status", "closed_at", "closed_by", "close_reason", "superseded_by"])
    if status != AskStatus.ANSWERED:
        ledger.closing(ask)
    session.open_asks -= 1
    _release(ask.run_id)
    tell_owners(session)


def _release(run_id: int) -> None:
    """Count one open ask less; a run that waited for the last one goes on in the same statement."""
    run = Run.objects.get(pk=run_id)
    left = run.open_asks - 1
    if left == 0 and run.status == RunStatus.WAITING_HUMAN:
        moves.move(run, RunStatus.CONTINUED, open_asks=0)
    else:
        run.open_asks = left
        run.save(update_fields=["open_asks"])


def all_closed(ask: Ask) -> bool:
    """Whether no ask of this one's run is open any more."""
    return not Ask.objects.filter(run_id=ask.run_id, status=AskStatus.OPEN).exists()


def go_on(session: Session, ask: Ask) -> None:
    """Wake a locked session because of a person, once nothing of the ask's run is open any more.

    An ask that outlived its run starts a run of its own, past one that waits for something else.
    """
    if not all_closed(ask):
        moves.restate(session)
        return
    if Run.objects.get(pk=ask.run_id).status not in LIVE_RUNS:
        inbox.release_waiting_run(session)
    inbox.wake_for_person(session)
    starting.queue_if_due(session)
    moves.restate(session)
