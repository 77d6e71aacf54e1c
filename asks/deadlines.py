"""What is said about an open ask as time goes by, each thing once, and how its time is prolonged."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, Group
from django.db import transaction
from django.db.models.functions import Now

from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import LockedSession, lock_first_session
from agents.models import Session
from asks import access, queue_hints, refusals
from asks.ledger import chain
from asks.lifecycle import AskStatus, Reason
from asks.locking import LockedAsk, lock_ask
from asks.models import Ask, Nudge, NudgeKind
from asks.policies import terms, working_hours
from asks.refusals import Answer, Refused

BATCH = 100
WORDS: dict[str, str] = {
    NudgeKind.REMINDER: "This question still waits for an answer.",
    NudgeKind.ESCALATION: "This question has waited too long",
    NudgeKind.WARNING: "This question expires soon. Without an answer nothing is approved.",
}


def send_due_nudges() -> int:
    """Say everything whose time has come; how much was said. Safe to run anywhere, at once."""
    return sum(_give(*row) for row in _DUE.rows())


_DUE = Prepared(
    lambda: (
        Nudge.objects.filter(said_at=None, due_at__lte=Now())
        .order_by("due_at", "pk")
        .values_list("ask__session_id", "pk")[:BATCH]
    ),
    of=(),
)


@transaction.atomic
def _give(session_id: int, nudge_id: int) -> bool:
    """Say one thing, unless the ask is closed by now; either way it is done with."""
    session = lock_first_session(Session.objects.filter(pk=session_id), if_free=True)
    if session is None:
        return False
    nudge = Nudge.objects.filter(pk=nudge_id, said_at=None).select_related("ask__run").first()
    if nudge is None:
        return False
    nudge.said_at = session.locked_at
    nudge.save(update_fields=["said_at"])
    ask = nudge.ask
    if ask.status != AskStatus.OPEN or (ask.expires_at and ask.expires_at <= session.locked_at):
        return False
    text = WORDS[nudge.kind]
    if nudge.kind == NudgeKind.ESCALATION:
        text = f"{text}. {_escalate(ask, nudge)}".strip()
    data = {"ask_id": ask.pk, "kind": nudge.kind, "to": nudge.to}
    record_event(session, "reminded", actor="system", run=ask.run, text=text, data=data)
    queue_hints.notify_queues(ask)
    return True


def _escalate(ask: Ask, nudge: Nudge) -> str:
    """Say to whom; and let them answer too, from now on, where the policy says so."""
    if not nudge.to:
        return ""
    said = f"It is escalated to {nudge.to}."
    name = terms.terms_of(ask).escalate_to
    group = Group.objects.filter(name=name).first() if name else None
    if group is None:
        return said
    _admit(ask, group)
    return f"{said} They may answer it too."


def copy_escalation(session: LockedSession, before: Ask, fresh: Ask) -> None:
    """What is asked in the place of something escalated is escalated, if the policy still says so."""
    group = before.escalated_to
    if group is None or terms.terms_of(fresh).escalate_to != group.name:
        return
    _admit(fresh, group)
    fresh.nudges.filter(kind=NudgeKind.ESCALATION, said_at=None).update(said_at=session.locked_at)


def _admit(ask: Ask, group: Group) -> None:
    """Let a group answer an ask of a locked session from now on."""
    ask.escalated_to = group
    ask.card_version += 1
    ask.save(update_fields=["escalated_to", "card_version"])
    data = {"ask_id": ask.pk, "to": group.name}
    chain.append_record("escalated", subject=f"ask:{ask.pk}", data=data, session=ask.session)


@transaction.atomic
def extend_deadline(*, ask_id: int, by: AbstractBaseUser, via: str = "page") -> Ask | Refused:
    """Give an open ask as much time again, from now on, as often as its policy lets one."""
    attempt, ask = Answer(by=by, text="extend", via=via), lock_ask(ask_id)
    refused = refusals.not_found() if ask is None else _may_not(ask, by)
    if ask is None or refused is not None:
        return refusals.record_refusal(
            refused or refusals.not_found(), attempt, ask=ask, ask_ref=ask_id
        )
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
        return refusals.refuse(Reason.NOT_ALLOWED, ask, "The policy allows no more time for this.")
    return None


def _extend(ask: LockedAsk, by: AbstractBaseUser) -> None:
    """The deadline, its warning, the thread and the ledger, all at once."""
    session, kept, actor = ask.session, terms.terms_of(ask), f"human:{by.get_username()}"
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
        session, "extended", actor=actor, run=ask.run, text="Gave it more time.", data=data
    )
    chain.append_record(
        "extended", subject=f"ask:{ask.pk}", data=data, session=session, actor=actor
    )
    queue_hints.notify_queues(ask)
