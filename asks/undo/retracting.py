"""Take a verdict back in its undo window, or end the window early.

A retraction is recorded like a verdict, in the thread and in the ledger. The verdict stays on record.
Its ask is open again, as it was; the agent never gets the verdict. Only the person who pressed may do
either, even if they may not answer the ask any more: taking back approves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents import actors, next_run, transitions
from agents.events.log import record_event
from agents.lifecycle import InboxKind, InboxState, RunStatus
from agents.locking import LockedSession
from asks import access, closing, raising, refusals
from asks.answers import Answer
from asks.ledger import chain, record_facts
from asks.lifecycle import Reason
from asks.locking import LockedAsk, lock_ask
from asks.models import Ask, Retraction, UndoWindow
from asks.refusals import Refused
from asks.undo import holding

STARTED = gettext_noop("It already started.")
OVER = gettext_noop("The time to take it back is over.")
TAKEN_BACK = gettext_noop("You took this answer back.")
ASKED_AGAIN = gettext_noop("The agent asked it again meanwhile.")


@dataclass(frozen=True)
class Retracted:
    """The ask of a verdict that was taken back. ``repeated`` if it was taken back before."""

    ask: Ask
    window: UndoWindow
    repeated: bool = False


@dataclass(frozen=True)
class StartedNow:
    """The ask of a verdict that takes effect now. ``repeated`` if it had taken effect before."""

    ask: Ask
    window: UndoWindow
    repeated: bool = False


@transaction.atomic
def retract_verdict(
    *, verdict_id: int, by: AbstractBaseUser, via: str = "page"
) -> Retracted | Refused:
    """Take a verdict back as the person who pressed. Repeating it changes nothing."""
    ask, window = _lock_window(verdict_id)
    attempt = Answer(by=by, text="take back", via=via)
    if ask is None or window is None or window.pressed_by_id != by.pk:
        return _refuse_others(ask, window, attempt, verdict_id)
    if _is_retracted(window):
        return Retracted(ask, window, repeated=True)
    if window.delivered_at is not None or window.until <= ask.session.locked_at:
        why = _(STARTED) if _has_started(ask) else _(OVER)
        refused = refusals.refuse(Reason.CLOSED, ask, why)
        return refusals.record_refusal(refused, attempt, ask=ask, ask_ref=ask.pk)
    _retract(ask, window, by, via)
    return Retracted(ask, window)


@transaction.atomic
def start_now(*, verdict_id: int, by: AbstractBaseUser, via: str = "page") -> StartedNow | Refused:
    """End the window of a verdict as the person who pressed. Repeating it changes nothing.

    If the session holds other verdicts, it starts when the last of their windows ends.
    """
    ask, window = _lock_window(verdict_id)
    attempt = Answer(by=by, text="start now", via=via)
    if ask is None or window is None or window.pressed_by_id != by.pk:
        return _refuse_others(ask, window, attempt, verdict_id)
    if _is_retracted(window):
        refused = refusals.refuse(Reason.CLOSED, ask, _(TAKEN_BACK))
        return refusals.record_refusal(refused, attempt, ask=ask, ask_ref=ask.pk)
    if window.delivered_at is not None:
        return StartedNow(ask, window, repeated=True)
    session = ask.session
    window.until = min(window.until, session.locked_at)
    window.save(update_fields=["until"])
    holding.store_last_end(session)
    next_run.queue_next_run(session)
    return StartedNow(ask, window)


def _lock_window(verdict_id: int) -> tuple[LockedAsk | None, UndoWindow | None]:
    """Lock the ask of a verdict; return it with the verdict's window, if there is one."""
    ask = lock_ask(Ask.objects.filter(verdicts=verdict_id).values_list("pk", flat=True).first())
    windows = UndoWindow.objects.select_related("pressed_by", "verdict", "vote")
    return ask, windows.filter(verdict=verdict_id).first() if ask else None


def _is_retracted(window: UndoWindow) -> bool:
    return Retraction.objects.filter(verdict=window.verdict_id).exists()


def _refuse_others(
    ask: LockedAsk | None, window: UndoWindow | None, attempt: Answer, verdict_id: int
) -> Refused:
    """Refuse a person who did not press, and a verdict that had no window."""
    if ask is None or not access.may_see(attempt.by, ask):
        refused = refusals.not_found()
    elif window is None:
        refused = refusals.refuse(Reason.CLOSED, ask, _(STARTED))
    else:
        why = _("Only {name} can do this.").format(name=window.pressed_by.get_username())
        refused = refusals.refuse(Reason.NOT_ALLOWED, ask, why)
    return refusals.record_refusal(refused, attempt, ask=ask, ask_ref=ask.pk if ask else verdict_id)


def _has_started(ask: LockedAsk) -> bool:
    """Whether a run carries the verdict, or is queued to."""
    live = transitions.live_run(ask.session)
    if live is not None and live.status in (RunStatus.QUEUED, RunStatus.RUNNING):
        return True
    items = ask.session.inbox.filter(kind=InboxKind.VERDICT, data__ask_id=ask.pk)
    return items.exclude(state=InboxState.QUEUED).exists()


def _retract(ask: LockedAsk, window: UndoWindow, by: AbstractBaseUser, via: str) -> None:
    session, actor = ask.session, actors.human(by)
    retraction = Retraction.objects.create(
        verdict=window.verdict,
        vote=window.vote,
        by_id=by.pk,
        via=via[:16],
        ask_then=record_facts.changing_facts_of(ask.pk),
        at=session.locked_at,
    )
    closing.reopen_ask(session, ask)
    names: dict[str, str | None] = {"by": by.get_username()}
    chain.append_row("retracted", retraction.pk, names=names, session=session, actor=actor)
    data: dict[str, int | str] = {"ask_id": ask.pk}
    if not ask.confidential:
        data["label"] = pressed_words(window)
    record_event(
        session, "retracted", actor=actor, run=ask.run, text=_("Took an answer back."), data=data
    )
    _supersede_repeated(session, ask)
    holding.store_last_end(session)
    next_run.queue_next_run(session)


def pressed_words(window: UndoWindow) -> str:
    """Return what the person pressed: an option's label, or the text."""
    if window.vote is not None:
        return window.vote.option_label
    return window.verdict.option_label or window.verdict.text


def _supersede_repeated(session: LockedSession, ask: LockedAsk) -> None:
    """Close the reopened ask again if a run has asked the same request in its window."""
    successor = raising.successor_of(ask)
    if successor is not None:
        closing.supersede_ask(session, ask, successor, why=_(ASKED_AGAIN))
