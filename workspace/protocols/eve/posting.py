"""A message into a session, owed to its next turn and named by its delivery."""

from __future__ import annotations

import uuid

from agents import events, inbox, moves, queueing, waking
from agents.lifecycle import Cause, InboxKind, RunStatus
from agents.models import Run, Session
from workspace.api.attempts import actor_of
from workspace.models import ApiKey


def new_delivery() -> str:
    """By which a client knows the events that came of what it sent."""
    return str(uuid.uuid4())


def post(session: Session, key: ApiKey, text: str, context: str, delivery: str) -> Run | None:
    """Owe a locked session a message and start the turn that carries it; the queued run, if any.

    What a client adds as context reaches the agent with it and is not shown as its words.
    """
    actor = actor_of(key)
    body = f"{text}\n\nWhat the client says beside it:\n\n{context}" if context else text
    told = {"deliveryId": delivery, "notForRun": _under_way(session)}
    inbox.owe(session, InboxKind.MESSAGE, author=actor, body=body, data={"eve": told})
    events.record(session, "message", actor=actor, text=text, data={"eve": told})
    moves.release_waiting_run(session)
    queueing.for_whom(session, key.person_id)
    waking.wake(session, Cause.HUMAN)
    return queueing.proceed(session)


def _under_way(session: Session) -> int | None:
    """A run that took up what it was owed before this message came."""
    run = moves.live_run(session)
    return run.pk if run is not None and run.status == RunStatus.RUNNING else None
