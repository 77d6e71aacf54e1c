"""A person's message to a session whose agent waits for an answer: what waits is resolved as ignored.

It happens in the transaction that takes the message, whatever door that came through, so no answer
can slip in between. It never approves anything. Words of an agent pass nothing over.
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
    """Called with a locked session and what was just recorded in it."""
    if session.agent.runtime == RUNTIME and any(
        event.kind == "message" and is_a_person(event.actor) for event in happened
    ):
        ignore_open(session)


def is_a_person(author: str) -> bool:
    """Whether it is a person who said something, in the words of the event log."""
    return actors.is_human(author)


@transaction.atomic
def release_ignored(fence: Fence) -> bool:
    """The same for a message that came before the question. False when the claim is lost."""
    session = lock_session(fence.session_id)
    run = claims.held_run(fence)
    if run is None:
        return False
    ignore_open(session)
    transitions.store_status(session, run)
    return True


def ignore_open(session: LockedSession) -> None:
    """Close what the agent of a locked session asked and nobody answered."""
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
