"""The queue: what waits on the reader, and below it, uncounted, what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Case, When
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from agents.lifecycle import WORKING
from agents.models import Event, Session
from asks import access, queue
from workspace.pages import cards, parts
from workspace.pages.requests import PAGE_SIZE, OwnerRequest, page_of, show

QUIET = 30
"""Sessions of the quiet group on the page; the rest is counted and stands on the agents' page."""


@require_safe
def needs_you(request: OwnerRequest) -> HttpResponse:
    """GET /: cards of open asks and blocked sessions, longest wait first."""
    page = page_of(queue.open_asks(request.user), request)
    places = cards.lines(page.object_list)  # type: ignore[arg-type]
    blocked = list(queue.blocked_sessions(request.user)[:PAGE_SIZE])
    others = _others(request.user)
    quiet = [session for session in others if session.status not in WORKING]
    return show(
        request,
        "needs_you",
        "needs_you",
        page=page,
        cards=_cards(places, blocked if not page.has_next() else [], get_token(request)),
        badge=page.paginator.count + _count(request, blocked),
        oldest=_oldest(places, blocked),
        working=[session for session in others if session.status in WORKING],
        quiet=quiet[:QUIET],
        more_quiet=len(quiet) > QUIET,
        notices=list(queue.notices(request.user)),
        pane=_pane_of_first(places, blocked),
    )


def _others(person: User) -> list[Session]:
    """Sessions that want nothing: those at work first, then as many of the quiet ones as fit."""
    want_nothing = queue.working(person) | queue.fine(person)
    at_work = Case(When(status__in=WORKING, then=0), default=1)
    return list(want_nothing.order_by(at_work, "agent__slug", "pk")[: 2 * QUIET])


@require_safe
def session_pane(request: OwnerRequest, session_id: int) -> HttpResponse:
    """GET /sessions/<id>/pane: the pane of another card, as the reader moves through the queue."""
    mine = access.sessions_of(request.user).select_related("agent")
    found = get_object_or_404(mine, pk=session_id)
    return render(request, "parts/pane.html", {"pane": Pane(found, recent_events(found.pk))})


@dataclass(frozen=True)
class Pane:
    """The thread of the card at the top, beside the queue on a wide screen."""

    session: Session
    events: list[Event]


def _pane_of_first(places: Sequence[cards.Line], blocked: list[Session]) -> Pane | None:
    first = [place.session_id for place in places[:1]] or [session.pk for session in blocked[:1]]
    events = recent_events(first[0]) if first else []
    return Pane(events[0].session, events) if events else None


def recent_events(session_id: int, *, limit: int = 20) -> list[Event]:
    """The newest events of a session that say something at a glance, oldest first."""
    telling = Event.objects.filter(session=session_id).exclude(kind__in=("output", "usage", "noted"))
    newest = telling.select_related("run", "session__agent").order_by("-seq")
    return list(reversed(newest[:limit]))


def _cards(places: Sequence[cards.Line], blocked: list[Session], csrf: str) -> list[str]:
    """Asks first, each group by how long it waits."""
    said = cards.last_words(blocked)
    stuck = [
        cards.blocked_card(session, csrf=csrf, said=said.get(session.pk, "")) for session in blocked
    ]
    return [*cards.ask_cards(places, csrf=csrf), *stuck]


def _count(request: OwnerRequest, blocked: list[Session]) -> int:
    full = len(blocked) == PAGE_SIZE
    return queue.blocked_sessions(request.user).count() if full else len(blocked)


def _oldest(places: Sequence[cards.Line], blocked: list[Session]) -> datetime | None:
    """Since when the longest wait waits."""
    since = [place.opened_at for place in places[:1]]
    return min(since + [session.moved_at for session in blocked[:1]], default=None)


@require_safe
def queue_changes(request: OwnerRequest) -> HttpResponse:
    """GET /queue/changes?have=ask-1,session-2: what polling gets when no socket can be had."""
    have = parts.held(request.GET.get("have", ""))
    return HttpResponse(parts.queue_changes(request.user, have).html)
