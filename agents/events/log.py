"""What happened in a session: written under its lock, read from a cursor.

Kinds: started, output, step, report, notice, usage, ignored, summary, error and ended of a turn;
asked, verdict, refused, withdrawn, expired, superseded of an ask; message, mail, mail_sent, mail_lost;
state of the session itself. noted is what only a protocol's own door tells: {kind, ...}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.db import statements, unit_of_work
from agents.events import listeners, notify
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


@dataclass(frozen=True)
class NewEvent:
    """An event to be. ``once_key`` lets it land once per run; empty means every time."""

    kind: str
    actor: str
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    once_key: str = ""


def record_event(
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
    landed = record_events(session, [NewEvent(kind, actor, text, data or {}, once_key)], run=run)
    return landed[0] if landed else None


def record_events(session: Session, new: Sequence[NewEvent], *, run: Run | None) -> list[Event]:
    """Append events to a locked session, in order, without those that have landed before."""
    fresh = _not_landed(session, new, run)
    if not fresh:
        return []
    rows = [
        _row(session, run, event, seq)
        for seq, event in enumerate(fresh, start=session.last_seq + 1)
    ]
    session.last_seq += len(rows)
    unit_of_work.put(session, rows)
    notify.notify_session_changed(session.pk, session.last_seq)
    listeners.announce_events(session, rows)
    return rows


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
    unwritten = session.unwritten.events if session.unwritten else []
    landed |= {row.once_key for row in unwritten if row.run_id == run_id}
    fresh = []
    for event in new:
        if event.once_key and event.once_key in landed:
            continue
        landed.add(event.once_key)
        fresh.append(event)
    return fresh
