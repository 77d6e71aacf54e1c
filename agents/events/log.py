"""The event log of a session: written under the session's lock, read from a cursor.

Kinds of a turn: started, output, step, report, notice, usage, ignored, summary, error, ended.
Kinds of an ask: asked, pressed, retracted, verdict, refused, withdrawn, expired, superseded, grant_ended.
Kinds of messages: message, mail, mail_sent, mail_lost.
The session itself: state. Only for the protocol that wrote it: noted, with {kind, ...}.

A verdict that can be taken back is first ``pressed``; ``verdict`` follows when it takes effect.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.db import statements
from agents.events import listeners, notify
from agents.locking import LockedSession
from agents.models import Event, Run, Session
from agents.text import html
from agents.text.storable import make_storable

#: Kinds whose text an agent or a person wrote. It is shown as markdown.
PROSE = frozenset({"report", "notice", "message", "mail", "asked", "summary"})
PAGE = 200
_STORED_KEYS = """
SELECT once_key FROM agents_event
WHERE session_id = %s AND run_id IS NOT DISTINCT FROM %s AND once_key = ANY(%s)
"""
_TEXTS = ("kind", "actor", "text", "html", "once_key")
_APPEND = """
WITH counted AS (UPDATE agents_session SET last_seq = %s WHERE id = %s),
appended AS (
    INSERT INTO agents_event (session_id, seq, run_id, data, kind, actor, text, html, once_key)
    SELECT %s::bigint, new.*
    FROM unnest(%s::bigint[], %s::bigint[], %s::jsonb[],
                %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) AS new
    RETURNING id, created_at, seq
) SELECT id, created_at FROM appended ORDER BY seq
"""


@dataclass(frozen=True)
class NewEvent:
    """An event to record. It is stored once per run and ``once_key``, or always if the key is empty."""

    kind: str
    actor: str
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    once_key: str = ""


def record_event(
    session: LockedSession,
    kind: str,
    *,
    actor: str,
    text: str = "",
    data: dict[str, Any] | None = None,
    run: Run | None = None,
    once_key: str = "",
) -> Event | None:
    """Append one event to a session; return None if its ``once_key`` is stored already."""
    stored = record_events(session, [NewEvent(kind, actor, text, data or {}, once_key)], run=run)
    return stored[0] if stored else None


def record_events(
    session: LockedSession, new: Sequence[NewEvent], *, run: Run | None
) -> list[Event]:
    """Append events to a session in order, except those stored already; return the new rows."""
    fresh = _not_stored(session, new, run)
    if not fresh:
        return []
    rows = [
        _row(session, run, event, seq)
        for seq, event in enumerate(fresh, start=session.last_seq + 1)
    ]
    session.last_seq += len(rows)
    _write(session, rows)
    notify.notify_session_changed(session.pk, session.last_seq)
    listeners.announce_events(session, rows)
    return rows


def _write(session: LockedSession, rows: Sequence[Event]) -> None:
    """Insert the rows and store the session's ``last_seq``, in one statement."""
    written = statements.query(
        _APPEND,
        session.last_seq,
        session.pk,
        session.pk,
        [row.seq for row in rows],
        [row.run_id for row in rows],
        [json.dumps(row.data) for row in rows],
        *[[getattr(row, name) for row in rows] for name in _TEXTS],
    )
    for row, (pk, at) in zip(rows, written, strict=True):
        row.pk, row.created_at = pk, at


def _row(session: Session, run: Run | None, event: NewEvent, seq: int) -> Event:
    text = make_storable(event.text)
    return Event(
        session=session,
        run=run,
        seq=seq,
        kind=event.kind,
        actor=event.actor,
        text=text,
        html=html.render_html(text) if event.kind in PROSE else "",
        data=make_storable(event.data),
        once_key=event.once_key,
    )


def events_after(session_id: int, cursor: int, *, limit: int = PAGE) -> list[Event]:
    """Return the next events with a seq above the cursor, oldest first."""
    events = Event.objects.filter(session_id=session_id, seq__gt=cursor).select_related("run")
    return list(events.order_by("seq")[:limit])


def _not_stored(session: Session, new: Sequence[NewEvent], run: Run | None) -> list[NewEvent]:
    """Return the events whose ``once_key`` is neither stored nor used by an earlier one of them."""
    keys = {event.once_key for event in new if event.once_key}
    if not keys:
        return list(new)
    run_id = run.pk if run else None
    rows = statements.query(_STORED_KEYS, session.pk, run_id, sorted(keys))
    stored = {key for (key,) in rows}
    fresh = []
    for event in new:
        if event.once_key and event.once_key in stored:
            continue
        stored.add(event.once_key)
        fresh.append(event)
    return fresh
