"""A message into a session, owed to its next turn and named by its delivery."""

from __future__ import annotations

import uuid

from agents import inbox, next_run, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import Cause, InboxKind, RunStatus
from agents.locking import LockedSession
from agents.models import Run
from workspace.api.attempts import actor_of
from workspace.models import ApiKey


def new_delivery() -> str:
    """By which a client knows the events that came of what it sent."""
    return str(uuid.uuid4())


def post_caller_message(
    session: LockedSession, key: ApiKey, text: str, context: str, delivery: str
) -> Run | None:
    """Owe a locked session a message and start the turn that carries it; the queued run, if any.

    A run that waits for a person is let go.
    """
    live = transitions.live_run(session)
    busy = live is not None and live.status == RunStatus.RUNNING
    begin_with_message(
        session, key, text, context, delivery, not_for=live.pk if live and busy else None
    )
    transitions.release_waiting_run(session)
    return next_run.queue_next_run(session)


def begin_with_message(
    session: LockedSession,
    key: ApiKey,
    text: str,
    context: str,
    delivery: str,
    *,
    not_for: int | None = None,
) -> None:
    """The same, without what follows from it; ``not_for`` is a run that took up its work before.

    What a client adds as context reaches the agent with it and is not shown as its words.
    """
    actor = actor_of(key)
    body = f"{text}\n\nWhat the client says beside it:\n\n{context}" if context else text
    told = {"eve": {"deliveryId": delivery, "notForRun": not_for}}
    inbox.enqueue_item(session, InboxKind.MESSAGE, author=actor, body=body, data=told)
    record_event(session, "message", actor=actor, text=text, data=told)
    next_run.set_requester(session, key.person_id)
    wakes.wake_session(session, Cause.HUMAN)
