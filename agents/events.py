"""What happened in a session: written under its lock, read from a cursor.

Kinds: started, output, step, report, notice, ignored, asked, verdict, withdrawn, expired, superseded,
refused, message, mail, mail_lost, blocked, ended, error, state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents import hints, prose
from agents.models import Event, Run, Session

#: Kinds whose text is the agent's or a person's prose and is shown as markdown.
PROSE = frozenset({"report", "notice", "message", "mail", "asked", "summary"})
PAGE = 200


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
    fresh = _not_landed(new, run)
    if not fresh:
        return []
    rows = [
        Event(
            session=session,
            run=run,
            seq=session.last_seq + place,
            kind=event.kind,
            actor=event.actor,
            text=_storable(event.text),
            html=prose.to_html(_storable(event.text)) if event.kind in PROSE else "",
            data=event.data,
            once_key=event.once_key,
        )
        for place, event in enumerate(fresh, start=1)
    ]
    Event.objects.bulk_create(rows)
    session.last_seq += len(rows)
    session.save(update_fields=["last_seq"])
    hints.session_moved(session.pk, session.last_seq)
    return rows


def after(session_id: int, cursor: int, *, limit: int = PAGE) -> list[Event]:
    """The next events with a seq above the cursor, oldest first."""
    found = Event.objects.filter(session_id=session_id, seq__gt=cursor).select_related("run")
    return list(found.order_by("seq")[:limit])


def _not_landed(new: Iterable[NewEvent], run: Run | None) -> list[NewEvent]:
    keys = {event.once_key for event in new if event.once_key}
    if not keys:
        return list(new)
    landed = set(
        Event.objects.filter(run=run, once_key__in=keys).values_list("once_key", flat=True)
    )
    fresh = []
    for event in new:
        if event.once_key and event.once_key in landed:
            continue
        landed.add(event.once_key)
        fresh.append(event)
    return fresh


def _storable(text: str) -> str:
    """PostgreSQL holds no NUL; it is shown as the replacement character instead."""
    return text.replace("\x00", "\ufffd")
