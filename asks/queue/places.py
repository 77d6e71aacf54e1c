"""Read the first page of a person's queue, at every request and every hint.

These are the queries of `asks.queue.queries` as prepared statements. They read only the columns that
the page shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import Case, QuerySet, When

from agents.db.statements import Prepared
from agents.lifecycle import WORKING
from agents.models import Event, Session
from asks.models import Ask
from asks.queue import queries

PAGE_SIZE = 50
QUIET = 30
"""Quiet sessions on the page. Twice as many other sessions are read, to know if there are more."""

#: The columns that the page shows. Reading another one would cost a query per row.
_SESSION = (
    *("agent", "status", "status_reason", "wake_at", "wake_cause", "run_count", "moved_at"),
    "agent__slug",
)
_NOTICE = ("seq", "kind", "text", "html", "created_at", "session__agent__slug")


@dataclass(frozen=True)
class CardPlace:
    """An open ask's place in the queue: all that its card needs while its HTML is cached.

    ``by_delegation`` is the id of the delegation under which its reader answers, or None.
    """

    pk: int
    opened_at: datetime
    session_id: int
    version: int
    agent_id: int = 0
    likeness: str = ""
    by_delegation: int | None = None


def places_of(asks: QuerySet[Ask]) -> list[CardPlace]:
    """Return the places of (a slice of) `asks.queue.queries.open_asks`, in order, in one query."""
    return [CardPlace(*row) for row in _place_rows(asks)]


def first_places(person: AbstractBaseUser) -> list[CardPlace]:
    """Return the places of the first page, and one more if there is another page."""
    return [CardPlace(*row) for row in _PLACES.rows(person.pk)]


def blocked_places(person: AbstractBaseUser) -> list[Session]:
    """Return the first page of the sessions that are blocked without an ask, longest first."""
    return _BLOCKED.all(person.pk)


def others(person: AbstractBaseUser) -> list[Session]:
    """Return the sessions that do not need this person: working ones first, then quiet ones."""
    return _OTHERS.all(person.pk)


def notices(person: AbstractBaseUser) -> list[Event]:
    """Return the newest notices of a person's agents, newest first."""
    return _NOTICES.all(person.pk)


def _place_rows(asks: QuerySet[Ask]) -> QuerySet[Any, Any]:
    columns = ["pk", "opened_at", "session_id", "card_version", "agent_id", "likeness"]
    return asks.prefetch_related(None).values_list(*columns, "by_delegation")


def _shown(sessions: QuerySet[Session]) -> QuerySet[Session]:
    return sessions.select_related("agent").only(*_SESSION)


def _others_first_at_work(person: User) -> QuerySet[Session]:
    want_nothing = (
        queries.working_sessions(person)
        | queries.fine_sessions(person)
        | queries.others_wait(person)
    )
    at_work = Case(When(status__in=WORKING, then=0), default=1)
    return want_nothing.order_by(at_work, "agent__slug", "pk")[: 2 * QUIET]


_PLACES = Prepared(lambda pk: _place_rows(queries.open_asks(User(pk=pk)))[: PAGE_SIZE + 1])
_BLOCKED = Prepared(lambda pk: _shown(queries.blocked_sessions(User(pk=pk)))[:PAGE_SIZE])
_OTHERS = Prepared(lambda pk: _shown(_others_first_at_work(User(pk=pk))))
_NOTICES = Prepared(
    lambda pk: queries.notices(User(pk=pk)).select_related("session__agent").only(*_NOTICE)
)
