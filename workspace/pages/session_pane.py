"""The pane beside the queue: the thread of one card's session, at a glance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from agents.db.statements import Prepared, with_only
from agents.models import Agent, Event, Run, Session

EVENTS = 20
_UNTOLD = ("output", "usage", "noted")
_EVENT = ("id", "run_id", "seq", "kind", "actor", "text", "html", "created_at")
_SESSION = ("id", "agent_id", "status", "status_reason", "run_count", "last_seq")


@dataclass(frozen=True)
class SessionPane:
    session: Session
    events: list[Event]


def pane_of(session_id: int) -> SessionPane | None:
    """The newest events of a session that say something at a glance, oldest first, in one query.

    None for a session in which nothing has happened.
    """
    rows = _NEWEST.rows(session_id)
    if not rows:
        return None
    session = _session(rows[0])
    return SessionPane(session, [_event(row, session) for row in reversed(rows)])


def _session(row: tuple[Any, ...]) -> Session:
    session = with_only(Session, _SESSION, row[: len(_SESSION)])
    session.agent = with_only(Agent, ("id", "slug"), (session.agent_id, row[-1]))
    return session


def _event(row: tuple[Any, ...], session: Session) -> Event:
    *columns, data, run_number, _slug = row[len(_SESSION) :]
    event = with_only(Event, (*_EVENT, "data"), (*columns, json.loads(data)))  # noqa: TID251  our own writing
    event.session = session
    if event.run_id is not None:
        event.run = with_only(Run, ("id", "number"), (event.run_id, run_number))
    return event


def _newest(session_id: int) -> QuerySet[Any, Any]:
    told = Event.objects.filter(session=session_id).exclude(kind__in=_UNTOLD)
    session = [f"session__{name}" for name in _SESSION]
    return told.order_by("-seq").values_list(
        *session, *_EVENT, "data", "run__number", "session__agent__slug"
    )[:EVENTS]


_NEWEST = Prepared(_newest)
