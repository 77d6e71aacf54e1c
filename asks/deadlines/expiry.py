"""Close asks that nobody answered in time. Expiry never approves: the session pauses and reports it."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from agents import controls
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import lock_first_session
from agents.models import Session
from asks import closing
from asks.lifecycle import AskStatus
from asks.models import Ask

BATCH = 100


def expire_due_asks() -> int:
    """Expire every open ask past its deadline. Return how many. Safe to call concurrently."""
    return sum(_expire(*row) for row in _DUE.rows())


_DUE = Prepared(
    lambda: (
        Ask.objects.filter(status=AskStatus.OPEN, expires_at__lte=Now())
        .order_by("expires_at", "pk")
        .values_list("session_id", "pk")[:BATCH]
    ),
    of=(),
)


@transaction.atomic
def _expire(session_id: int, ask_id: int) -> bool:
    """Expire one ask if it is still open and its session is not locked."""
    session = lock_first_session(Session.objects.filter(pk=session_id), if_free=True)
    if session is None:
        return False
    due = Ask.objects.filter(pk=ask_id, status=AskStatus.OPEN, expires_at__lte=session.locked_at)
    ask = due.select_related("run").first()
    if ask is None:
        return False
    closing.close_ask(session, ask, AskStatus.EXPIRED, reason=_("Nobody answered in time."))
    record_event(
        session,
        "expired",
        actor="system",
        run=ask.run,
        text=_("Nobody answered in time. The session is paused; nothing was approved."),
        data={"ask_id": ask.pk, "prompt": ask.prompt[:500]},
    )
    reason = _("Paused: a question expired unanswered.")
    controls.pause_session(session, reason=reason, actor="system")
    return True
