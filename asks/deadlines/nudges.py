"""Send the nudges of an open ask: reminder, escalation, warning. Each is sent once."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.events.log import record_event
from agents.locking import LockedSession, lock_first_session
from agents.models import Session
from asks.ledger import chain
from asks.lifecycle import AskStatus
from asks.models import Ask, Nudge, NudgeKind
from asks.policies import terms
from asks.queue import hints
from asks.undo import holding

BATCH = 100
SENTENCES: dict[str, str] = {
    NudgeKind.REMINDER: gettext_noop("This question is still waiting for an answer."),
    NudgeKind.ESCALATION: gettext_noop("This question has waited too long."),
    NudgeKind.WARNING: gettext_noop(
        "This question expires soon. Without an answer, nothing is approved."
    ),
}


def send_due_nudges() -> int:
    """Send every due nudge. Return how many. Safe to call from several processes at once."""
    due = Nudge.objects.filter(said_at=None, due_at__lte=Now())
    pairs = due.order_by("due_at", "pk").values_list("ask__session_id", "pk")[:BATCH]
    return sum(_give(*pair) for pair in pairs)


@transaction.atomic
def _give(session_id: int, nudge_id: int) -> bool:
    """Send one nudge, or drop it if its ask is no longer open. Either way it is not due again."""
    session = lock_first_session(Session.objects.filter(pk=session_id), if_free=True)
    if session is None:
        return False
    nudge = Nudge.objects.filter(pk=nudge_id, said_at=None).select_related("ask__run").first()
    if nudge is None:
        return False
    if holding.held_until(nudge.ask) is not None:
        return False  # the answer can be taken back; then the nudge is still due
    nudge.said_at = session.locked_at
    nudge.save(update_fields=["said_at"])
    ask = nudge.ask
    if ask.status != AskStatus.OPEN or (ask.expires_at and ask.expires_at <= session.locked_at):
        return False
    text = _(SENTENCES[nudge.kind])
    if nudge.kind == NudgeKind.ESCALATION:
        text = f"{text} {_escalate(ask, nudge)}".strip()
    data = {"ask_id": ask.pk, "kind": nudge.kind, "to": nudge.to}
    record_event(session, "reminded", actor="system", run=ask.run, text=text, data=data)
    hints.notify_queues(ask)
    return True


def _escalate(ask: Ask, nudge: Nudge) -> str:
    """Return the sentence that names the recipient. Let them answer too, if the policy says so."""
    if not nudge.to:
        return ""
    escalated = _("It has been escalated to {group}.").format(group=nudge.to)
    name = terms.terms_of(ask).escalate_to
    group = Group.objects.filter(name=name).first() if name else None
    if group is None:
        return escalated
    _admit(ask, group)
    return _("{escalated} They may answer it too.").format(escalated=escalated)


def copy_escalation(session: LockedSession, before: Ask, fresh: Ask) -> None:
    """Escalate the replacement of an escalated ask, if the policy still says so."""
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
