"""The backlog: questions that expired undecided. Each is asked again, or dismissed with a reason."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agents import actors, inbox, next_run, wakes
from agents.events.log import record_event
from agents.lifecycle import Cause, SessionState
from agents.locking import LockedSession
from agents.text.storable import is_blank, make_storable
from asks import access, raising, refusals
from asks.answers import Answer
from asks.asking_again import draft_from
from asks.ledger import chain
from asks.lifecycle import AskStatus, Reason
from asks.locking import LockedAsk, lock_judged
from asks.models import Ask, Dropped
from asks.queue import queries
from asks.refusals import Refused

MAX_REASON = 1000


def backlog_asks(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the asks that expired and were neither asked again nor dismissed, oldest first."""
    undecided = access.asks_of(person).filter(
        status=AskStatus.EXPIRED, repeated_by=None, dropped=None
    )
    return queries.with_card_facts(undecided.exclude(session__state=SessionState.ENDED)).order_by(
        "expires_at", "pk"
    )


@transaction.atomic
def dismiss_ask(
    *, ask_id: int, by: AbstractBaseUser, reason: str, via: str = "page"
) -> Dropped | Refused:
    """Dismiss an expired question from the backlog. Repeating it returns what was recorded."""
    attempt = Answer(by=by, text=reason, via=via)
    ask = lock_judged(ask_id, attempt, lambda ask: _may_not(ask, by, reason))
    if isinstance(ask, Refused):
        return ask
    if (before := Dropped.objects.filter(ask=ask).first()) is not None:
        return before
    return _drop(ask, by, str(make_storable(reason.strip()))[:MAX_REASON])


def _may_not(ask: Ask, by: AbstractBaseUser, reason: str) -> Refused | None:
    if not access.may_see(by, ask):
        return refusals.not_found()
    if raising.successor_of(ask) is not None:
        return refusals.refuse(Reason.CLOSED, ask, _("This question has been asked again."))
    if ask.status != AskStatus.EXPIRED:
        why = _("Only an expired question can be dismissed. This one is {status}.")
        why = why.format(status=AskStatus(ask.status).label.lower())
        return refusals.refuse(Reason.CLOSED, ask, why)
    if is_blank(reason):
        return refusals.refuse(Reason.REASON_REQUIRED, ask, _("Say why it needs no decision."))
    return None


def _drop(ask: LockedAsk, by: AbstractBaseUser, reason: str) -> Dropped:
    session, actor = ask.session, actors.human(by)
    dropped = Dropped.objects.create(ask=ask, by_id=by.pk, reason=reason, at=session.locked_at)
    data = {"ask_id": ask.pk, "reason": reason}
    record_event(
        session,
        "dropped",
        actor=actor,
        run=ask.run,
        text=_("Dismissed the expired question: {reason}").format(reason=reason),
        data=data,
    )
    names: dict[str, str | None] = {"by": by.get_username()}
    chain.append_row("dropped", ask.pk, names=names, session=session, actor=actor)
    return dropped


@transaction.atomic
def reopen_ask(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Ask an expired question again, as one of its owners, bound to the world as it is now.

    The session that the expiry paused is active again and continues once the new ask is answered.
    Repeating it returns the same new ask.
    """
    attempt = Answer(by=by, text="ask again", via=via)
    expired = lock_judged(ask_id, attempt, lambda ask: _may_not_reopen(ask, by))
    if isinstance(expired, Refused):
        return expired
    return raising.successor_of(expired) or _reopen(expired.session, expired, by)


def _may_not_reopen(ask: LockedAsk, by: AbstractBaseUser) -> Refused | None:
    if not access.may_see(by, ask):
        return refusals.not_found()
    if raising.successor_of(ask) is not None:
        return None
    if Dropped.objects.filter(ask=ask).exists():
        return refusals.refuse(Reason.CLOSED, ask, _("This question was dismissed."))
    if ask.status != AskStatus.EXPIRED or ask.session.state == SessionState.ENDED:
        why = _("Only an expired question can be asked again. This one is {status}.")
        why = why.format(status=AskStatus(ask.status).label.lower())
        return refusals.refuse(Reason.CLOSED, ask, why)
    return None


def _reopen(session: LockedSession, expired: Ask, by: AbstractBaseUser) -> Ask:
    waited = (expired.expires_at or session.locked_at) - expired.opened_at
    fresh = raising.create_ask(
        session,
        expired.run,
        draft_from(expired),
        repeats=expired,
        expires_at=session.locked_at + max(waited, timedelta(minutes=1)),
    )
    record_event(
        session,
        "state",
        actor=actors.human(by),
        run=expired.run,
        text=_("Asked the expired question again."),
        data={"ask_id": expired.pk, "replaced_by": fresh.pk},
    )
    if session.state == SessionState.PAUSED:
        session.state, session.state_reason = SessionState.ACTIVE, ""
    if inbox.has_waiting_items(session):
        wakes.wake_session(session, Cause.HUMAN)
    next_run.queue_next_run(session)
    return fresh
