"""Withdraw an ask without an answer. It approves nothing, and the run continues."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents import actors
from agents.events.log import record_event
from agents.locking import LockedSession
from agents.text.storable import make_storable
from asks import access, closing, refusals
from asks.answers import Answer
from asks.lifecycle import AskStatus
from asks.locking import lock_judged
from asks.models import Ask
from asks.refusals import Refused

MAX_REASON = 1000
NOTHING_APPROVED = gettext_noop("Withdrawn without an answer. Nothing was approved.")


@transaction.atomic
def withdraw_ask(
    *, ask_id: int, by: AbstractBaseUser, reason: str = "", via: str = "page"
) -> Ask | Refused:
    """Withdraw an open ask as one of its owners. Repeating it returns the ask unchanged."""
    attempt = Answer(by=by, text=reason, via=via)
    ask = lock_judged(ask_id, attempt, lambda ask: _may_not(ask, by))
    if isinstance(ask, Refused) or ask.status == AskStatus.WITHDRAWN:
        return ask
    withdraw_locked(ask.session, ask, by=by, reason=reason)
    closing.continue_session(ask.session, ask)
    return ask


def _may_not(ask: Ask, by: AbstractBaseUser) -> Refused | None:
    if not access.may_see(by, ask):
        return refusals.not_found()
    is_repeat = ask.status == AskStatus.WITHDRAWN and ask.closed_by_id == by.pk
    return None if is_repeat or ask.status == AskStatus.OPEN else refusals.already_closed(ask)


def withdraw_locked(session: LockedSession, ask: Ask, *, by: AbstractBaseUser, reason: str) -> None:
    """Close an open ask as withdrawn. Call ``continue_session`` or ``store_status`` next."""
    why = make_storable(str(reason or "")[:MAX_REASON]).strip()
    closing.close_ask(session, ask, AskStatus.WITHDRAWN, by=by, reason=why)
    record_event(
        session,
        "withdrawn",
        actor=actors.human(by),
        run=ask.run,
        text=why or _(NOTHING_APPROVED),
        data={"ask_id": ask.pk, "prompt": ask.prompt[:500]},
    )
