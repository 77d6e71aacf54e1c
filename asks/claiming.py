"""Somebody says that they see to an ask, so that two people do not work on the same one."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents.events.log import record_event
from asks import access, queue_hints, refusals
from asks.lifecycle import AskStatus, Reason
from asks.locking import LockedAsk, lock_ask
from asks.models import Ask
from asks.policies import terms
from asks.refusals import Answer, Refused

MANY = "Several people decide this, so nobody claims it."


@transaction.atomic
def claim_ask(
    *, ask_id: int, by: AbstractBaseUser, take_over: bool = False, via: str = "page"
) -> Ask | Refused:
    """Claim an open ask as somebody who may answer it; others are then told who has it.

    With ``take_over`` also from whoever has it now. Claiming it again changes nothing.
    """
    attempt, ask = Answer(by=by, text="claim", via=via), lock_ask(ask_id)
    refused = refusals.not_found() if ask is None else _may_not(ask, by)
    if ask is None or refused is not None:
        return refusals.record_refusal(
            refused or refusals.not_found(), attempt, ask=ask, ask_ref=ask_id
        )
    if ask.claimed_by_id == by.pk:
        return ask
    if ask.claimed_by is not None and not take_over:
        why = f"This question is claimed by {ask.claimed_by.get_username()}."
        return refusals.record_refusal(
            refusals.refuse(Reason.CLAIMED, ask, why), attempt, ask=ask, ask_ref=ask_id
        )
    _hold(ask, by, "Claimed the question.")
    return ask


@transaction.atomic
def release_ask(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Give up a claim, one's own or a colleague's. Without a claim nothing changes."""
    attempt, ask = Answer(by=by, text="release", via=via), lock_ask(ask_id)
    refused = refusals.not_found() if ask is None else _may_not(ask, by)
    if ask is None or refused is not None:
        return refusals.record_refusal(
            refused or refusals.not_found(), attempt, ask=ask, ask_ref=ask_id
        )
    if ask.claimed_by is not None:
        _hold(ask, None, "Released the question.", actor=by)
    return ask


def _may_not(ask: Ask, by: AbstractBaseUser) -> Refused | None:
    """Whoever may answer an open ask may claim it; where several vote, there is nothing to claim."""
    standing = access.rights_of(by, ask)
    if not standing.sees:
        return refusals.not_found()
    if not standing.names:
        reason = Reason.FOUR_EYES if standing.bar else Reason.NOT_ALLOWED
        return refusals.refuse(reason, ask, standing.bar)
    if ask.status != AskStatus.OPEN:
        return refusals.already_closed(ask)
    many = terms.terms_of(ask).many_decide
    return refusals.refuse(Reason.NOT_ALLOWED, ask, MANY) if many else None


def _hold(
    ask: LockedAsk,
    who: AbstractBaseUser | None,
    words: str,
    *,
    actor: AbstractBaseUser | None = None,
) -> None:
    session, said_by = ask.session, actor or who
    ask.claimed_by_id = who.pk if who else None
    ask.claimed_at = session.locked_at if who else None
    ask.card_version += 1
    ask.save(update_fields=["claimed_by", "claimed_at", "card_version"])
    name = said_by.get_username() if said_by else ""
    data = {"ask_id": ask.pk}
    record_event(session, "claimed", actor=f"human:{name}", run=ask.run, text=words, data=data)
    queue_hints.notify_queues(ask)
