"""Close the open asks of an eve session as ignored when a person writes to the session.

This happens in the transaction that stores the message, whichever interface received it, so no
answer can arrive in between. Ignoring never approves anything. A message from an agent has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from agents import actors, claims, transitions
from agents.events.log import record_event
from agents.locking import LockedSession, lock_session
from agents.models import Event
from agents.running.runtime import Fence
from asks import closing
from asks.lifecycle import AskStatus
from asks.models import Ask
from workspace.protocols.eve.agent import texts

RUNTIME = "eve"


def ignore_on_message(session: LockedSession, happened: Sequence[Event]) -> None:
    """Ignore the open asks if one of the events just recorded is a person's message."""
    if session.agent.runtime == RUNTIME and any(
        event.kind == "message" and is_a_person(event.actor) for event in happened
    ):
        ignore_open(session)


def is_a_person(author: str) -> bool:
    """Return whether an actor of the event log is a person."""
    return actors.is_human(author)


@transaction.atomic
def release_ignored(fence: Fence) -> bool:
    """Ignore the open asks for a message older than they are. Return False if the claim is lost."""
    session = lock_session(fence.session_id)
    run = claims.held_run(fence)
    if run is None:
        return False
    ignore_open(session)
    transitions.store_status(session, run)
    return True


def ignore_open(session: LockedSession) -> None:
    """Close the open asks of a locked session and record each as withdrawn."""
    open_asks = Ask.objects.filter(session=session, status=AskStatus.OPEN, context__has_key="eve")
    for ask in open_asks.select_related("run").order_by("pk"):
        ask.run.refresh_from_db()
        closing.close_ask(session, ask, AskStatus.WITHDRAWN, reason=texts.IGNORED)
        record_event(
            session,
            "withdrawn",
            actor="system",
            run=ask.run,
            text=texts.IGNORED,
            data={"ask_id": ask.pk, "prompt": ask.prompt[:500], "ignored": True},
        )
