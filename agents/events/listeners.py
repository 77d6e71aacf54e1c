"""Call the layers above when something has happened, in the same transaction.

A listener is called under the session's lock. It may only write rows: they are committed or rolled
back with the event, and an exception rolls back both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.locking import LockedSession
    from agents.models import Event

Listener = Callable[["LockedSession", Sequence["Event"]], None]
_listeners: list[Listener] = []


def register_listener(listener: Listener) -> None:
    """Call a listener from now on with each session and the events just recorded in it.

    Registering it again does nothing.
    """
    if listener not in _listeners:
        _listeners.append(listener)


def announce_events(session: LockedSession, events: Sequence[Event]) -> None:
    """Call every listener with events. An event without a primary key is announced but not stored."""
    for listener in _listeners:
        listener(session, events)
