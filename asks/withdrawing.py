"""Takes an ask back without an answer. It approves nothing, and the run goes on."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import events
from agents.locking import lock_session
from asks import access, closing
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask
from asks.refusals import Answer, Refused, record

MAX_REASON = 1000


@transaction.atomic
def withdraw(
    *, ask_id: int, by: AbstractBaseUser, reason: str = "", via: str = "page"
) -> Ask | Refused:
    """Withdraw an open ask as one of its owners. The same person again gets the ask as it is."""
    attempt = Answer(by=by, text=reason, via=via)
    session_id = Ask.objects.filter(pk=ask_id).values_list("session_id", flat=True).first()
    session = lock_session(session_id) if session_id is not None else None
    ask = Ask.objects.select_related("agent", "run", "closed_by").filter(pk=ask_id).first()
    if ask is None or session is None or not access.may_see(by, ask):
        refused = Refused(Reason.NOT_FOUND, str(Reason.NOT_FOUND.label))
        record(refused, attempt, ask=ask, ask_ref=ask_id)
        return refused
    if ask.status == AskStatus.WITHDRAWN and ask.closed_by_id == by.pk:
        return ask
    if ask.status != AskStatus.OPEN:
        refused = Refused(Reason.CLOSED, f"This question was already {ask.status}.", ask)
        record(refused, attempt, ask=ask, ask_ref=ask_id)
        return refused
    reason = reason.replace("\x00", "\ufffd").strip()[:MAX_REASON]
    closing.close(session, ask, AskStatus.WITHDRAWN, by=by, reason=reason)
    events.record(
        session,
        "withdrawn",
        actor=f"human:{by.get_username()}",
        run=ask.run,
        text=reason or "Withdrawn without an answer. Nothing was approved.",
        data={"ask_id": ask.pk, "prompt": ask.prompt[:500]},
    )
    closing.go_on(session, ask)
    return ask
