"""What happened in a session: written under its lock, read from a cursor.

Kinds: started, output, step, report, notice, usage, ignored, summary, error and ended of a turn;
asked, verdict, refused, withdrawn, expired, superseded of an ask; message, mail, mail_sent, mail_lost;
state of the session itself. noted is what only a protocol's own door tells: {kind, ...}.
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

#: Kinds whose text is the agent's or a person's prose and is shown as markdown.
PROSE = frozenset({"report", "notice", "message", "mail", "asked", "summary"})
PAGE = 200
_LANDED = """
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
    """An event to be. ``once_key`` lets it land once per run; empty means every time."""

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
    """Append one event to a locked session; None when its ``once_key`` has landed before."""
    landed = record_events(session, [NewEvent(kind, actor, text, data or {}, once_key)], run=run)
    return landed[0] if landed else None


def record_events(
    session: LockedSession, new: Sequence[NewEvent], *, run: Run | None
) -> list[Event]:
    """Append events to a locked session, in order, without those that have landed before."""
    fresh = _not_landed(session, new, run)
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


def _write(session: Session, rows: Sequence[Event]) -> None:
    """Insert the rows and store the session's count of them, in one statement."""
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
    """The next events with a seq above the cursor, oldest first."""
    found = Event.objects.filter(session_id=session_id, seq__gt=cursor).select_related("run")
    return list(found.order_by("seq")[:limit])


def _not_landed(session: Session, new: Sequence[NewEvent], run: Run | None) -> list[NewEvent]:
    keys = {event.once_key for event in new if event.once_key}
    if not keys:
        return list(new)
    run_id = run.pk if run else None
    before = statements.query(_LANDED, session.pk, run_id, sorted(keys))
    landed = {key for (key,) in before}
    fresh = []
    for event in new:
        if event.once_key and event.once_key in landed:
            continue
        landed.add(event.once_key)
        fresh.append(event)
    return fresh
