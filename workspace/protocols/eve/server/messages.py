"""Put a caller's message into a session's inbox, named by its delivery id."""

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
    """Return a new delivery id: it marks the events that result from one message."""
    return str(uuid.uuid4())


def post_caller_message(
    session: LockedSession, key: ApiKey, text: str, context: str, delivery: str
) -> Run | None:
    """Put a message into the inbox and queue the turn that takes it. Return the queued run, if any.

    A run that waits for a person is released.
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
    """Put a message into the inbox without queueing a turn. ``not_for`` is a run that already started.

    The client's context reaches the agent with the message, and is not shown as part of it.
    """
    actor = actor_of(key)
    body = f"{text}\n\nContext from the client:\n\n{context}" if context else text
    delivered = {"eve": {"deliveryId": delivery, "notForRun": not_for}}
    inbox.enqueue_item(session, InboxKind.MESSAGE, author=actor, body=body, data=delivered)
    record_event(session, "message", actor=actor, text=text, data=delivered)
    next_run.set_requester(session, key.person_id)
    wakes.wake_session(session, Cause.HUMAN)
