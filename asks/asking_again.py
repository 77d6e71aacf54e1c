"""Asks again: what has gone stale, bound to the world as it is now, and what expired unanswered."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import inbox, next_run, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import Cause, SessionState
from agents.locking import LockedSession
from asks import access, closing, deadlines, raising, refusals
from asks.actions import binding
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, AskStatus, Meaning, Reason, Style
from asks.locking import lock_ask
from asks.models import Ask, Dropped, Gate
from asks.refusals import Answer, Refused

WHY_STALE = "What was asked had changed."


def ask_again(session: LockedSession, stale: Ask) -> Ask:
    """A fresh ask in place of a stale one, on a locked session. The old one names its successor.

    It is the same run's and has waited as long.
    """
    fresh = raising.create_ask(
        session,
        stale.run,
        draft_from(stale),
        repeats=stale,
        opened_at=stale.opened_at,
        expires_at=stale.expires_at,
        imported=stale.imported,
    )
    deadlines.copy_escalation(session, stale, fresh)
    closing.supersede_ask(session, stale, fresh, why=WHY_STALE)
    transitions.store_status(session, transitions.live_run(session))
    return fresh


@transaction.atomic
def reopen_ask(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Ask again what expired, as one of its owners, bound to the world as it is now.

    The session that was paused by the expiry is active again and goes on once the fresh ask is
    answered. Doing it again gives the same fresh ask.
    """
    attempt, expired = Answer(by=by, text="ask again", via=via), lock_ask(ask_id)
    if expired is None or not access.may_see(by, expired):
        return refusals.record_refusal(refusals.not_found(), attempt, ask=expired, ask_ref=ask_id)
    if (again := raising.successor_of(expired)) is not None:
        return again
    if Dropped.objects.filter(ask=expired).exists():
        dropped = refusals.refuse(Reason.CLOSED, expired, "This question was dropped.")
        return refusals.record_refusal(dropped, attempt, ask=expired, ask_ref=ask_id)
    if expired.status != AskStatus.EXPIRED or expired.session.state == SessionState.ENDED:
        why = f"Only a question that expired can be asked again; this one is {expired.status}."
        return refusals.record_refusal(
            refusals.refuse(Reason.CLOSED, expired, why), attempt, ask=expired, ask_ref=ask_id
        )
    return _reopen(expired.session, expired, by)


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
        actor=f"human:{by.get_username()}",
        run=expired.run,
        text="A question that had expired is asked again.",
        data={"ask_id": expired.pk, "replaced_by": fresh.pk},
    )
    if session.state == SessionState.PAUSED:
        session.state, session.state_reason = SessionState.ACTIVE, ""
    if inbox.has_waiting_items(session):
        wakes.wake_session(session, Cause.HUMAN)
    next_run.queue_next_run(session)
    return fresh


def draft_from(ask: Ask) -> AskDraft:
    """An ask as the draft it was."""
    gate = binding.gate_of(ask)
    return AskDraft(
        request_key=ask.request_key,
        prompt=ask.prompt,
        kind=AskKind(ask.kind),
        options=tuple(
            OptionDraft(o.key, o.label, o.detail, Style(o.style), Meaning(o.meaning))
            for o in ask.options.order_by("position")
        ),
        free_text=ask.free_text,
        action=_action_of(ask, gate) if gate else None,
        context=ask.context,
    )


def _action_of(ask: Ask, gate: Gate) -> ActionDraft:
    params = binding.restore_params(gate.params)
    files = tuple(gate.files)
    return ActionDraft(gate.operation, params, ask.money_critical, files=files, schema=gate.schema)
