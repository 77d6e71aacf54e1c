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

from agents import announcing, hints, prepared, prose
from agents.models import Event, Run, Session
from agents.words import storable

#: Kinds whose text is the agent's or a person's prose and is shown as markdown.
PROSE = frozenset({"report", "notice", "message", "mail", "asked", "summary"})
PAGE = 200
_TEXTS = ("kind", "actor", "text", "html", "once_key")
#: The most frequent write there is: the rows, and in the session the number of the last of them.
_INSERT = """
WITH counted AS (
    UPDATE agents_session SET last_seq = %s WHERE id = %s AND NOT %s
), told AS (
    INSERT INTO agents_event (session_id, run_id, seq, data, kind, actor, text, html, once_key)
    SELECT %s::bigint, %s::bigint, new.*
    FROM unnest(%s::bigint[], %s::jsonb[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) AS new
    RETURNING id, created_at, seq
) SELECT id, created_at FROM told ORDER BY seq
"""
_LANDED = """
SELECT once_key FROM agents_event
WHERE session_id = %s AND run_id IS NOT DISTINCT FROM %s AND once_key = ANY(%s)
"""


@dataclass(frozen=True)
class NewEvent:
    """An event to be. ``once_key`` lets it land once per run; empty means every time."""

    kind: str
    actor: str
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    once_key: str = ""


def record(
    session: Session,
    kind: str,
    *,
    actor: str,
    text: str = "",
    data: dict[str, Any] | None = None,
    run: Run | None = None,
    once_key: str = "",
) -> Event | None:
    """Append one event to a locked session; None when its ``once_key`` has landed before."""
    landed = record_all(session, [NewEvent(kind, actor, text, data or {}, once_key)], run=run)
    return landed[0] if landed else None


def record_all(session: Session, new: Sequence[NewEvent], *, run: Run | None) -> list[Event]:
    """Append events to a locked session, in order, without those that have landed before."""
    fresh = _not_landed(session, new, run)
    if not fresh:
        return []
    rows = [
        _row(session, run, event, seq)
        for seq, event in enumerate(fresh, start=session.last_seq + 1)
    ]
    session.last_seq += len(rows)
    _insert(session, run, rows)
    hints.session_moved(session.pk, session.last_seq)
    announcing.announce(session, rows)
    return rows


def _insert(session: Session, run: Run | None, rows: Sequence[Event]) -> None:
    counted_later = session.is_restated_at_the_end
    numbers, data = [row.seq for row in rows], [json.dumps(row.data) for row in rows]
    texts = [[getattr(row, name) for row in rows] for name in _TEXTS]
    session_id, run_id = session.pk, run.pk if run else None
    counting = (session.last_seq, session_id, counted_later)
    told = prepared.rows_of(_INSERT, *counting, session_id, run_id, numbers, data, *texts)
    for row, (pk, at) in zip(rows, told, strict=True):
        row.pk, row.created_at = pk, at


def _row(session: Session, run: Run | None, event: NewEvent, seq: int) -> Event:
    text = storable(event.text)
    return Event(
        session=session,
        run=run,
        seq=seq,
        kind=event.kind,
        actor=event.actor,
        text=text,
        html=prose.to_html(text) if event.kind in PROSE else "",
        data=storable(event.data),
        once_key=event.once_key,
    )


def after(session_id: int, cursor: int, *, limit: int = PAGE) -> list[Event]:
    """The next events with a seq above the cursor, oldest first."""
    found = Event.objects.filter(session_id=session_id, seq__gt=cursor).select_related("run")
    return list(found.order_by("seq")[:limit])


def _not_landed(session: Session, new: Sequence[NewEvent], run: Run | None) -> list[NewEvent]:
    keys = {event.once_key for event in new if event.once_key}
    if not keys:
        return list(new)
    before = prepared.rows_of(_LANDED, session.pk, run.pk if run else None, sorted(keys))
    landed = {key for (key,) in before}
    fresh = []
    for event in new:
        if event.once_key and event.once_key in landed:
            continue
        landed.add(event.once_key)
        fresh.append(event)
    return fresh
