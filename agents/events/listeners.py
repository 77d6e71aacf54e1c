"""Tells the layers above what happened, in the very transaction in which it did.

A listener is called under the session's lock. It may write rows and nothing else: they are kept or
undone with what they tell, and whatever it raises undoes both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.locking import LockedSession
    from agents.models import Event

Listener = Callable[["LockedSession", Sequence["Event"]], None]
_listeners: list[Listener] = []


def subscribe(listener: Listener) -> None:
    """Call a listener with a locked session and what was just recorded in it. Once is enough."""
    if listener not in _listeners:
        _listeners.append(listener)


def announce_events(session: LockedSession, happened: Sequence[Event]) -> None:
    """Tell every listener. An event without a primary key is told and kept nowhere else."""
    for listener in _listeners:
        listener(session, happened)
