"""Messages from a person to a session. They outrank every other cause and end a run's wait."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import actors, inbox, next_run, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import Cause, InboxKind, SessionState
from agents.locking import lock_session
from agents.models import Run
from agents.text.storable import is_blank, is_storable

MESSAGE_LIMIT = 16_000


class NotSent(ValueError):
    """The message was not sent; the text of the exception says why."""


class EmptyMessage(NotSent):
    """The message has no visible character."""


class BadMessage(NotSent):
    """The message is too long or holds a character that cannot be stored."""


class SessionIsOver(NotSent):
    """The session has ended and accepts no messages."""


@transaction.atomic
def post_message(*, session_id: int, by: AbstractBaseUser, text: str) -> Run | None:
    """Queue a person's message and start a turn for it; return the queued run, if any.

    A run that waits for an answer stops waiting first; its asks stay open. A paused session keeps
    the message until it is resumed. Raises NotSent.
    """
    _check(text)
    session = lock_session(session_id)
    if session.state == SessionState.ENDED:
        raise SessionIsOver("This session has ended. Nothing was sent.")
    author = actors.human(by)
    inbox.enqueue_item(session, InboxKind.MESSAGE, author=author, body=text)
    record_event(session, "message", actor=author, text=text)
    transitions.release_waiting_run(session)
    next_run.set_requester(session, by.pk)
    wakes.wake_session(session, Cause.HUMAN)
    return next_run.queue_next_run(session)


def _check(text: object) -> None:
    """Raise NotSent if a message cannot be sent. ``text`` is unvalidated input."""
    if not isinstance(text, str) or not is_storable(text):
        raise BadMessage(
            "The message contains a character that cannot be stored. Nothing was sent."
        )
    if len(text) > MESSAGE_LIMIT:
        raise BadMessage(f"The message has {len(text)} characters; the limit is {MESSAGE_LIMIT}.")
    if is_blank(text):
        raise EmptyMessage("Write something: an empty message is not sent.")
