"""Puts an expired decision aside for good, with the reason. Nothing was approved, and nothing is."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents.events.log import record_event
from agents.text.storable import is_blank, make_storable
from asks import access, raising, refusals
from asks.ledger import chain
from asks.lifecycle import AskStatus, Reason
from asks.locking import LockedAsk, lock_ask
from asks.models import Ask, Dropped
from asks.refusals import Answer, Refused

MAX_REASON = 1000


@transaction.atomic
def dismiss_ask(
    *, ask_id: int, by: AbstractBaseUser, reason: str, via: str = "page"
) -> Dropped | Refused:
    """Drop an expired decision from the backlog. Doing it again returns what was recorded."""
    attempt, ask = Answer(by=by, text=reason, via=via), lock_ask(ask_id)
    refused = refusals.not_found() if ask is None else _may_not(ask, by, reason)
    if ask is None or refused is not None:
        return refusals.record_refusal(
            refused or refusals.not_found(), attempt, ask=ask, ask_ref=ask_id
        )
    if (before := Dropped.objects.filter(ask=ask).first()) is not None:
        return before
    return _drop(ask, by, str(make_storable(reason.strip()))[:MAX_REASON])


def _may_not(ask: Ask, by: AbstractBaseUser, reason: str) -> Refused | None:
    if not access.may_see(by, ask):
        return refusals.not_found()
    if raising.successor_of(ask) is not None:
        return refusals.refuse(Reason.CLOSED, ask, "This question was asked again meanwhile.")
    if ask.status != AskStatus.EXPIRED:
        why = f"Only a question that expired can be dropped; this one is {ask.status}."
        return refusals.refuse(Reason.CLOSED, ask, why)
    if is_blank(reason):
        return refusals.refuse(Reason.REASON_REQUIRED, ask, "Say why it needs no decision.")
    return None


def _drop(ask: LockedAsk, by: AbstractBaseUser, reason: str) -> Dropped:
    session, actor = ask.session, f"human:{by.get_username()}"
    dropped = Dropped.objects.create(ask=ask, by_id=by.pk, reason=reason, at=session.locked_at)
    data = {"ask_id": ask.pk, "reason": reason}
    record_event(
        session,
        "dropped",
        actor=actor,
        run=ask.run,
        text=f"Dropped the expired question: {reason}",
        data=data,
    )
    names: dict[str, str | None] = {"by": by.get_username()}
    chain.append_row("dropped", ask.pk, names=names, session=session, actor=actor)
    return dropped
