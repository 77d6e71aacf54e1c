"""Write outbox items in the transaction of their events: both are stored, or neither.

This costs one insert and no read, because the person who answers waits for it. Couriers add the
content of the ask later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.db import statements
from agents.models import Event, Session
from workspace.models import OutboxItem, OutboxKind
from workspace.notify import payloads

#: Kinds of events about an ask, with its id in their data.
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
    """Write an outbox item for each event of a kind that is reported."""
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
