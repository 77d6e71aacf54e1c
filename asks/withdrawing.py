"""Takes an ask back without an answer. It approves nothing, and the run goes on."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents.events.log import record_event
from agents.locking import LockedSession
from agents.text.storable import make_storable
from asks import access, closing, refusals
from asks.lifecycle import AskStatus
from asks.locking import lock_ask
from asks.models import Ask
from asks.refusals import Answer, Refused

MAX_REASON = 1000
NOTHING_APPROVED = "Withdrawn without an answer. Nothing was approved."


@transaction.atomic
def withdraw_ask(
    *, ask_id: int, by: AbstractBaseUser, reason: str = "", via: str = "page"
) -> Ask | Refused:
    """Withdraw an open ask as one of its owners. The same person again gets the ask as it is."""
    attempt, ask = Answer(by=by, text=reason, via=via), lock_ask(ask_id)
    if ask is None or not access.may_see(by, ask):
        return refusals.record_refusal(refusals.not_found(), attempt, ask=ask, ask_ref=ask_id)
    if ask.status == AskStatus.WITHDRAWN and ask.closed_by_id == by.pk:
        return ask
    if ask.status != AskStatus.OPEN:
        return refusals.record_refusal(
            refusals.already_closed(ask), attempt, ask=ask, ask_ref=ask_id
        )
    withdraw_locked(ask.session, ask, by=by, reason=reason)
    closing.continue_session(ask.session, ask)
    return ask


def withdraw_locked(session: LockedSession, ask: Ask, *, by: AbstractBaseUser, reason: str) -> None:
    """Close an open ask of a locked session as withdrawn. The caller goes on or restates."""
    why = make_storable(str(reason or "")[:MAX_REASON]).strip()
    closing.close_ask(session, ask, AskStatus.WITHDRAWN, by=by, reason=why)
    record_event(
        session,
        "withdrawn",
        actor=f"human:{by.get_username()}",
        run=ask.run,
        text=why or NOTHING_APPROVED,
        data={"ask_id": ask.pk, "prompt": ask.prompt[:500]},
    )
