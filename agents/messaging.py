"""What a person tells a session. It outranks everything and lets a waiting run go on."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import events, inbox, moves, starting
from agents.lifecycle import InboxKind, SessionState
from agents.locking import lock_session
from agents.models import Run
from agents.words import is_blank

MESSAGE_LIMIT = 16_000


class EmptyMessage(ValueError):
    """A message without a visible character."""


class SessionIsOver(ValueError):
    """The session has ended and takes no messages."""


@transaction.atomic
def post_message(*, session_id: int, by: AbstractBaseUser, text: str) -> Run | None:
    """Owe the session a person's words and start a turn that carries them; the queued run, if any.

    A run that waits for an answer is let go first; its asks stay open. A paused session keeps the
    message until it is resumed. Raises EmptyMessage and SessionIsOver.
    """
    if is_blank(text):
        raise EmptyMessage("Write something: an empty message is not sent.")
    session = lock_session(session_id)
    if session.state == SessionState.ENDED:
        raise SessionIsOver("This session has ended. Nothing was sent.")
    author = f"human:{by.get_username()}"
    inbox.owe(session, InboxKind.MESSAGE, author=author, body=text)
    events.record(session, "message", actor=author, text=text)
    inbox.release_waiting_run(session)
    inbox.wake_for_person(session)
    run = starting.queue_if_due(session)
    moves.restate(session)
    return run
