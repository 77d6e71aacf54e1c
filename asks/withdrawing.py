"""Takes an ask back without an answer. It approves nothing, and the run goes on."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import events
from agents.locking import lock_one
from agents.models import Session
from agents.words import storable
from asks import access, closing, refusals
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.refusals import Answer, Refused

MAX_REASON = 1000
NOTHING_APPROVED = "Withdrawn without an answer. Nothing was approved."


@transaction.atomic
def withdraw(
    *, ask_id: int, by: AbstractBaseUser, reason: str = "", via: str = "page"
) -> Ask | Refused:
    """Withdraw an open ask as one of its owners. The same person again gets the ask as it is."""
    number = refusals.number_of(ask_id)
    session = lock_one(Session.objects.filter(asks__pk=number)) if number else None
    if session is None:
        return _refuse(refusals.not_found(), None, Answer(by=by, text=reason, via=via), ask_id)
    ask = Ask.objects.select_related("run", "gate").get(pk=number)
    ask.session, ask.agent = session, session.agent
    if not access.may_answer(by, ask):
        return _refuse(refusals.not_found(), ask, Answer(by=by, text=reason, via=via), ask_id)
    if ask.status == AskStatus.WITHDRAWN and ask.closed_by_id == by.pk:
        return ask
    if ask.status != AskStatus.OPEN:
        refused = refusals.already_closed(ask)
        return _refuse(refused, ask, Answer(by=by, text=reason, via=via), ask_id)
    take_back(session, ask, by=by, reason=reason)
    closing.go_on(session, ask)
    return ask


def take_back(session: Session, ask: Ask, *, by: AbstractBaseUser, reason: str) -> None:
    """Close an open ask of a locked session as withdrawn. The caller goes on or restates."""
    why = storable(reason if isinstance(reason, str) else "").strip()[:MAX_REASON]
    closing.close(session, ask, AskStatus.WITHDRAWN, by=by, reason=why)
    events.record(
        session,
        "withdrawn",
        actor=f"human:{by.get_username()}",
        run=ask.run,
        text=why or NOTHING_APPROVED,
        data={"ask_id": ask.pk, "prompt": ask.prompt[:500]},
    )


def _refuse(refused: Refused, ask: Ask | None, attempt: Answer, ask_ref: object) -> Refused:
    refusals.record(refused, attempt, ask=ask, ask_ref=ask_ref)
    return refused
