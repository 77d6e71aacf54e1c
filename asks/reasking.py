"""Asks again: what has gone stale, bound to the world as it is now, and what expired unanswered."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import events, inbox, moves, queueing, waking
from agents.lifecycle import Cause, SessionState
from agents.locking import lock_one
from agents.models import Session
from asks import access, binding, closing, raising, refusals
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, AskStatus, Meaning, Reason, Style
from asks.models import Ask
from asks.refusals import Answer, Refused

WHY_STALE = "What was asked had changed."


def ask_again(session: Session, stale: Ask) -> Ask:
    """A fresh ask in place of a stale one, on a locked session. The old one names its successor.

    It is the same run's and has waited as long.
    """
    fresh = raising.create(
        session,
        stale.run,
        draft_of(stale),
        request_key=raising.next_key(session, stale.request_key),
        opened_at=stale.opened_at,
        expires_at=stale.expires_at,
        imported=stale.imported,
    )
    closing.replace(session, stale, fresh, why=WHY_STALE)
    moves.restate(session, moves.live_run(session))
    return fresh


@transaction.atomic
def reopen(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Ask again what expired, as one of its owners, bound to the world as it is now.

    The session that was paused by the expiry is active again and goes on once the fresh ask is
    answered. Doing it again gives the same fresh ask.
    """
    attempt = Answer(by=by, text="ask again", via=via)
    number = refusals.number_of(ask_id)
    session = lock_one(Session.objects.filter(asks__pk=number)) if number else None
    if session is None:
        return _refused(refusals.not_found(), attempt, None, ask_id)
    expired = Ask.objects.select_related("agent", "run", "gate").get(pk=number)
    if not access.may_answer(by, expired):
        return _refused(refusals.not_found(), attempt, expired, ask_id)
    if expired.status == AskStatus.EXPIRED and expired.superseded_by is not None:
        return expired.superseded_by
    if expired.status != AskStatus.EXPIRED or session.state == SessionState.ENDED:
        why = f"Only a question that expired can be asked again; this one is {expired.status}."
        return _refused(Refused(Reason.CLOSED, why, expired), attempt, expired, ask_id)
    return _reopen(session, expired, by)


def _reopen(session: Session, expired: Ask, by: AbstractBaseUser) -> Ask:
    waited = (expired.expires_at or session.locked_at) - expired.opened_at
    fresh = raising.create(
        session,
        expired.run,
        draft_of(expired),
        request_key=raising.next_key(session, expired.request_key),
        expires_at=session.locked_at + max(waited, timedelta(minutes=1)),
    )
    expired.superseded_by = fresh
    expired.save(update_fields=["superseded_by"])
    events.record(
        session,
        "state",
        actor=f"human:{by.get_username()}",
        run=expired.run,
        text="A question that had expired is asked again.",
        data={"ask_id": expired.pk, "replaced_by": fresh.pk},
    )
    if session.state == SessionState.PAUSED:
        session.state, session.state_reason = SessionState.ACTIVE, ""
    if inbox.waits(session):
        waking.wake(session, Cause.HUMAN)
    queueing.proceed(session)
    return fresh


def draft_of(ask: Ask) -> AskDraft:
    """An ask as the draft it was."""
    gate = binding.gate_of(ask)
    action = gate and ActionDraft(
        gate.operation, binding.restored(gate.params), money_critical=ask.money_critical
    )
    return AskDraft(
        request_key=ask.request_key,
        prompt=ask.prompt,
        kind=AskKind(ask.kind),
        options=tuple(
            OptionDraft(o.key, o.label, o.detail, Style(o.style), Meaning(o.meaning))
            for o in ask.options.order_by("position")
        ),
        free_text=ask.free_text,
        action=action,
        context=ask.context,
    )


def _refused(refused: Refused, attempt: Answer, ask: Ask | None, ask_ref: object) -> Refused:
    refusals.record(refused, attempt, ask=ask, ask_ref=ask_ref)
    return refused
