"""The first page of a person's queue: what of `asks.queue.queries` is read at every request and every hint.

The queries are those of `asks.queue.queries`, prepared, and of each row only what the page shows is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import Case, QuerySet, When

from agents.db.statements import Prepared, with_only
from agents.lifecycle import WORKING
from agents.models import Agent, Event, Session
from asks.models import Ask
from asks.queue import queries

PAGE_SIZE = 50
QUIET = 30
"""Sessions of the quiet group on the page; twice as many others are read, to tell if there are more."""

_AGENT = ("id", "slug")
_SESSION = ("id", "agent_id", "status", "status_reason", "wake_at", "run_count", "moved_at")
_NOTICE = ("id", "session_id", "seq", "kind", "text", "html", "created_at")


@dataclass(frozen=True)
class CardPlace:
    """An open ask's place in the queue: all that its card needs while its HTML is remembered.

    ``by_delegation`` is the id of the delegation by which its reader answers, if not by themselves.
    """

    pk: int
    opened_at: datetime
    session_id: int
    version: int
    by_delegation: int | None = None


def places_of(asks: QuerySet[Ask]) -> list[CardPlace]:
    """The places of (a slice of) `asks.queue.queries.open_asks`, in their order, in one query."""
    return [CardPlace(*row) for row in _place_rows(asks)]


def first_places(person: AbstractBaseUser) -> list[CardPlace]:
    """The places of the first page, and one more if there is another page."""
    return [CardPlace(*row) for row in _PLACES.rows(person.pk)]


def blocked_places(person: AbstractBaseUser) -> list[Session]:
    """The first page of sessions that are blocked and have asked nothing, longest first."""
    return [_session(row) for row in _BLOCKED.rows(person.pk)]


def others(person: AbstractBaseUser) -> list[Session]:
    """Sessions that want nothing: those at work first, then as many of the quiet ones as fit."""
    return [_session(row) for row in _OTHERS.rows(person.pk)]


def notices(person: AbstractBaseUser) -> list[Event]:
    """What agents said in passing, newest first."""
    return [_notice(row) for row in _NOTICES.rows(person.pk)]


def _place_rows(asks: QuerySet[Ask]) -> QuerySet[Any, Any]:
    columns = ["pk", "opened_at", "session_id", "card_version", "by_delegation"]
    return asks.prefetch_related(None).values_list(*columns)


def _session_rows(sessions: QuerySet[Session]) -> QuerySet[Any, Any]:
    return sessions.values_list(*_SESSION, "agent__slug")


def _session(row: tuple[Any, ...]) -> Session:
    session = with_only(Session, _SESSION, row[: len(_SESSION)])
    session.agent = with_only(Agent, _AGENT, (session.agent_id, row[-1]))
    return session


def _others_first_at_work(person: User) -> QuerySet[Session]:
    want_nothing = queries.working_sessions(person) | queries.fine_sessions(person)
    at_work = Case(When(status__in=WORKING, then=0), default=1)
    return want_nothing.order_by(at_work, "agent__slug", "pk")[: 2 * QUIET]


def _notice(row: tuple[Any, ...]) -> Event:
    *columns, agent_id, slug = row
    event = with_only(Event, _NOTICE, columns)
    event.session = with_only(Session, ("id", "agent_id"), (event.session_id, agent_id))
    event.session.agent = with_only(Agent, _AGENT, (agent_id, slug))
    return event


def _notice_rows(events: QuerySet[Event]) -> QuerySet[Any, Any]:
    return events.values_list(*_NOTICE, "session__agent_id", "session__agent__slug")


_PLACES = Prepared(lambda pk: _place_rows(queries.open_asks(User(pk=pk)))[: PAGE_SIZE + 1])
_BLOCKED = Prepared(lambda pk: _session_rows(queries.blocked_sessions(User(pk=pk)))[:PAGE_SIZE])
_OTHERS = Prepared(lambda pk: _session_rows(_others_first_at_work(User(pk=pk))))
_NOTICES = Prepared(lambda pk: _notice_rows(queries.notices(User(pk=pk))))
