"""Claim an ask, so that two people do not work on the same one."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents import actors
from agents.events.log import record_event
from asks import access, refusals
from asks.answers import Answer
from asks.lifecycle import AskStatus, Reason
from asks.locking import LockedAsk, lock_judged
from asks.models import Ask
from asks.policies import terms
from asks.queue import hints
from asks.refusals import Refused

MANY = gettext_noop("Several people decide this, so nobody claims it.")


@transaction.atomic
def claim_ask(
    *, ask_id: int, by: AbstractBaseUser, take_over: bool = False, via: str = "page"
) -> Ask | Refused:
    """Claim an open ask as somebody who may answer it, so that others see who has it.

    With ``take_over``, take the claim from the person who has it. Claiming it again changes nothing.
    """

    def judge(ask: LockedAsk) -> Refused | None:
        return _may_not(ask, by) or (None if take_over else _is_taken(ask, by))

    ask = lock_judged(ask_id, Answer(by=by, text="claim", via=via), judge)
    if isinstance(ask, Refused) or ask.claimed_by_id == by.pk:
        return ask
    _hold(ask, by, _("Claimed the question."), by=by)
    return ask


@transaction.atomic
def release_ask(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Give up a claim, your own or a colleague's. Without a claim nothing changes."""
    attempt = Answer(by=by, text="release", via=via)
    ask = lock_judged(ask_id, attempt, lambda ask: _may_not(ask, by))
    if isinstance(ask, Refused):
        return ask
    if ask.claimed_by is not None:
        _hold(ask, None, _("Released the question."), by=by)
    return ask


def _is_taken(ask: Ask, by: AbstractBaseUser) -> Refused | None:
    holder = ask.claimed_by
    if holder is None or holder.pk == by.pk:
        return None
    why = _("This question is claimed by {name}.").format(name=holder.get_username())
    return refusals.refuse(Reason.CLAIMED, ask, why)


def _may_not(ask: Ask, by: AbstractBaseUser) -> Refused | None:
    """Refuse people who may not answer the ask, and asks that are closed or decided by votes."""
    rights = access.rights_of(by, ask)
    if not rights.sees:
        return refusals.not_found()
    if not rights.names:
        reason = Reason.FOUR_EYES if rights.bar else Reason.NOT_ALLOWED
        return refusals.refuse(reason, ask, rights.bar)
    if ask.status != AskStatus.OPEN:
        return refusals.already_closed(ask)
    many = terms.terms_of(ask).many_decide
    return refusals.refuse(Reason.NOT_ALLOWED, ask, _(MANY)) if many else None


def _hold(
    ask: LockedAsk, holder: AbstractBaseUser | None, text: str, *, by: AbstractBaseUser
) -> None:
    session = ask.session
    ask.claimed_by_id = holder.pk if holder else None
    ask.claimed_at = session.locked_at if holder else None
    ask.card_version += 1
    ask.save(update_fields=["claimed_by", "claimed_at", "card_version"])
    data = {"ask_id": ask.pk}
    record_event(session, "claimed", actor=actors.human(by), run=ask.run, text=text, data=data)
    hints.notify_queues(ask)
