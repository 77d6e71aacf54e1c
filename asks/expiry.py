"""Closes what nobody answered in time. It never approves: the session pauses and a report says so."""

from __future__ import annotations

from django.db import transaction

from agents import clock, events, steering
from agents.models import Session
from asks import closing
from asks.lifecycle import AskStatus
from asks.models import Ask

BATCH = 100


def expire_due() -> int:
    """Expire every open ask whose time has passed; how many were. Safe to run anywhere, at once."""
    due = Ask.objects.filter(status=AskStatus.OPEN, expires_at__lte=clock.now())
    return sum(_expire(*row) for row in due.values_list("session_id", "pk")[:BATCH])


@transaction.atomic
def _expire(session_id: int, ask_id: int) -> bool:
    session = (
        Session.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("agent")
        .filter(pk=session_id)
        .first()
    )
    ask = Ask.objects.select_related("run").filter(pk=ask_id, status=AskStatus.OPEN).first()
    if session is None or ask is None:
        return False
    closing.close(session, ask, AskStatus.EXPIRED, reason="Nobody answered in time.")
    events.record(
        session,
        "expired",
        actor="system",
        run=ask.run,
        text="Nobody answered in time. The session is paused; nothing was approved.",
        data={"ask_id": ask.pk, "prompt": ask.prompt[:500]},
    )
    steering.pause_session(
        session, reason="Paused: a question expired unanswered.", actor="system"
    )
    return True
