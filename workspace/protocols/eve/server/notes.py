"""Record in a session's log the facts that only the wire reports.

They are events of the kind ``noted``, like the runtime's, so the stream is built from one log.
"""

from __future__ import annotations

from typing import Any

from agents.events.log import record_event
from agents.locking import LockedSession
from workspace.protocols.eve.server.log_events import AT_REST, CANCELLED, CLEARED, TYPED


def note_typed(session: LockedSession, delivery_id: str, text: str) -> None:
    """Note that what follows results from this message, which was taken as an answer."""
    _note(session, TYPED, {"deliveryId": delivery_id, "message": text})


def note_cancelled(session: LockedSession) -> None:
    _note(session, CANCELLED, {})


def note_cleared(session: LockedSession) -> None:
    _note(session, CLEARED, {})


def note_at_rest(session: LockedSession) -> None:
    """Note that the session is idle."""
    _note(session, AT_REST, {})


def _note(session: LockedSession, what: str, data: dict[str, Any]) -> None:
    noted = {"kind": "eve", "type": what, "data": data}
    record_event(session, "noted", actor="system", data=noted)
