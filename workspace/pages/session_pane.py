"""The pane next to the queue: the newest events of one card's session."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from agents.db.statements import Prepared
from agents.models import Event, Session
from asks import access

EVENTS = 20
_NOT_SHOWN = ("output", "usage", "noted")
_SESSION = (
    *("agent", "status", "status_reason", "wake_at", "wake_cause", "run_count", "last_seq"),
    "agent__slug",
)
#: The columns that the pane shows. Reading another one would cost a query per event.
_SHOWN = (
    *("seq", "kind", "actor", "text", "html", "data", "created_at", "run__number"),
    *(f"session__{name}" for name in _SESSION),
)


@dataclass(frozen=True)
class SessionPane:
    session: Session
    events: list[Event]


def pane_of(session_id: int, reader: AbstractBaseUser) -> SessionPane | None:
    """Return the newest events of a session that tell something at a glance, oldest first.

    One query for an owner. Anybody else reads up to the question that they may answer. None for a
    session without such events.
    """
    events = _NEWEST.all(session_id, reader.pk) or _up_to_the_question(session_id, reader)
    return SessionPane(events[0].session, events[::-1]) if events else None


def _up_to_the_question(session_id: int, reader: AbstractBaseUser) -> list[Event]:
    until = access.readable_until(reader, session_id)
    if until is None or access.sessions_of(reader).filter(pk=session_id).exists():
        return []
    events = list(_glance(session_id).filter(seq__lte=until)[:EVENTS])
    for event in events:
        event.session.last_seq = until
    return events


def _glance(session_id: int) -> QuerySet[Event]:
    events = Event.objects.filter(session=session_id).exclude(kind__in=_NOT_SHOWN)
    return events.order_by("-seq").select_related("session__agent", "run").only(*_SHOWN)


def _newest(session_id: int, owner: int) -> QuerySet[Event]:
    return _glance(session_id).filter(session__agent__owners=owner)[:EVENTS]


_NEWEST = Prepared(_newest, of=(int, int))
