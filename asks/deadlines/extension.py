"""Give an open ask more time."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _

from agents import actors
from agents.events.log import record_event
from asks import access, refusals
from asks.answers import Answer
from asks.ledger import chain
from asks.lifecycle import AskStatus, Reason
from asks.locking import LockedAsk, lock_judged
from asks.models import Ask, NudgeKind
from asks.policies import terms, working_hours
from asks.queue import hints
from asks.refusals import Refused


@transaction.atomic
def extend_deadline(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Restart the time of an open ask from now, as often as its policy allows."""
    attempt = Answer(by=by, text="extend", via=via)
    ask = lock_judged(ask_id, attempt, lambda ask: _may_not(ask, by))
    if isinstance(ask, Refused):
        return ask
    _extend(ask, by)
    return ask


def _may_not(ask: LockedAsk, by: AbstractBaseUser) -> Refused | None:
    if not access.may_see(by, ask):
        return refusals.not_found()
    if ask.status != AskStatus.OPEN:
        return refusals.already_closed(ask)
    if ask.expires_at is not None and ask.expires_at <= ask.session.locked_at:
        return refusals.refuse(Reason.EXPIRED, ask)
    kept = terms.terms_of(ask)
    if ask.expires_at is None or kept.extend_by is None or ask.extended >= kept.extensions:
        why = _("The policy does not allow more time for this question.")
        return refusals.refuse(Reason.NOT_ALLOWED, ask, why)
    return None


def _extend(ask: LockedAsk, by: AbstractBaseUser) -> None:
    """Move the deadline and its warning, and record that in the thread and the ledger."""
    session, kept, actor = ask.session, terms.terms_of(ask), actors.human(by)
    wait = kept.extend_by
    if wait is None:
        return
    ask.expires_at = working_hours.add_working_time(session.locked_at, wait, *kept.calendars)
    ask.extended += 1
    ask.card_version += 1
    ask.save(update_fields=["expires_at", "extended", "card_version"])
    if kept.warn_before is not None:
        ask.nudges.filter(kind=NudgeKind.WARNING, said_at=None).update(said_at=session.locked_at)
        warning = terms.warning_nudge(ask.expires_at, kept.warn_before, ask.extended)
        warning.ask = ask
        warning.save()
    until = ask.expires_at.isoformat()
    data = {"ask_id": ask.pk, "expires_at": until}
    record_event(
        session,
        "extended",
        actor=actor,
        run=ask.run,
        text=_("Gave the question more time."),
        data=data,
    )
    chain.append_record(
        "extended", subject=f"ask:{ask.pk}", data=data, session=session, actor=actor
    )
    hints.notify_queues(ask)
