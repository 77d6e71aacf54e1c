"""Writes the outbox in the transaction in which something happened: both or neither.

One insert and nothing read: whoever answers waits for no more. Couriers fill in what an ask says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.db import statements
from agents.models import Event, Session
from workspace.models import OutboxItem, OutboxKind
from workspace.notify import payloads

#: The kinds of events that are about one ask, whose id is in their data.
_OF_ASKS = {
    "asked": OutboxKind.ASK_OPENED,
    "verdict": OutboxKind.ASK_ANSWERED,
    "withdrawn": OutboxKind.ASK_WITHDRAWN,
    "expired": OutboxKind.ASK_EXPIRED,
    "superseded": OutboxKind.ASK_SUPERSEDED,
    "reminded": OutboxKind.ASK_REMINDED,
}
_OF_SESSIONS = {"notice": OutboxKind.AGENT_NOTIFY, "blocked": OutboxKind.SESSION_BLOCKED}


def write_outbox(session: Session, happened: Sequence[Event]) -> None:
    """Put what happened into the outbox, if it is of a kind that is told."""
    for event in happened:
        for item in _items(session, event):
            statements.insert(item)


def _items(session: Session, event: Event) -> Iterator[OutboxItem]:
    if kind := _OF_SESSIONS.get(event.kind):
        payload = payloads.session_payload(session, event)
        yield _item(session, event, kind, f"session:{session.pk}", payload)
    ask_id = event.data.get("ask_id")
    if (kind := _OF_ASKS.get(event.kind)) and isinstance(ask_id, int):
        begun = payloads.where(session, event)
        if kind == OutboxKind.ASK_REMINDED:
            begun["nudge"] = {name: event.data.get(name, "") for name in ("kind", "to")}
        yield _item(session, event, kind, f"ask:{ask_id}", begun)


def _item(
    session: Session, event: Event, kind: OutboxKind, subject: str, payload: payloads.Payload
) -> OutboxItem:
    return OutboxItem(
        kind=kind,
        actor=event.actor,
        subject=subject,
        agent=session.agent,
        session=session,
        seq=event.seq,
        payload=payload,
    )
