"""The queue: what waits on the reader, and below it, uncounted, what does not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from agents.models import Event, Session
from asks import access, queue
from asks.models import Ask
from workspace.pages import cards, parts
from workspace.pages.requests import PAGE_SIZE, OwnerRequest, page_of, show

QUIET = 30
"""Sessions of the quiet group on the page; the rest is counted and stands on the agents' page."""


@require_safe
def needs_you(request: OwnerRequest) -> HttpResponse:
    """GET /: cards of open asks and blocked sessions, longest wait first."""
    asks = page_of(cards.with_past(queue.open_asks(request.user)), request)
    blocked = list(queue.blocked_sessions(request.user)[:PAGE_SIZE])
    csrf = get_token(request)
    quiet = list(queue.fine(request.user)[: QUIET + 1])
    return show(
        request,
        "needs_you",
        "needs_you",
        cards=_cards(asks, blocked, csrf),
        badge=asks.paginator.count + _count(request, blocked),
        page=asks,
        oldest=_oldest(asks, blocked),
        working=list(queue.working(request.user)[:QUIET]),
        quiet=quiet[:QUIET],
        more_quiet=len(quiet) > QUIET,
        notices=list(queue.notices(request.user)),
        pane=_pane(asks, blocked),
    )


@require_safe
def session_pane(request: OwnerRequest, session_id: int) -> HttpResponse:
    """GET /sessions/<id>/pane: the pane of another card, as the reader moves through the queue."""
    mine = access.sessions_of(request.user).select_related("agent")
    found = get_object_or_404(mine, pk=session_id)
    return render(request, "parts/pane.html", {"pane": Pane(found, recent_events(found))})


@dataclass(frozen=True)
class Pane:
    """The thread of the card at the top, beside the queue on a wide screen."""

    session: Session
    events: list[Event]


def _pane(asks: Page[Ask], blocked: list[Session]) -> Pane | None:
    first = asks[0].session if asks else blocked[0] if blocked else None
    return Pane(first, recent_events(first)) if first else None


def recent_events(session: Session, *, limit: int = 20) -> list[Event]:
    """The newest events of a session that say something at a glance, oldest first."""
    telling = session.events.exclude(kind__in=("output", "usage")).select_related("run")
    telling = telling.order_by("-seq")
    return list(reversed(telling[:limit]))


def _cards(asks: Page[Ask], blocked: list[Session], csrf: str) -> list[str]:
    """Asks first, each group by how long it waits; blocked sessions close the first page only."""
    shown = [cards.ask_card(cards.facts_of(ask), csrf=csrf) for ask in asks]
    if asks.number == asks.paginator.num_pages:
        said = cards.last_words(blocked)
        shown += [
            cards.blocked_card(session, csrf=csrf, said=said.get(session.pk, ""))
            for session in blocked
        ]
    return [str(card) for card in shown]


def _count(request: OwnerRequest, blocked: list[Session]) -> int:
    full = len(blocked) == PAGE_SIZE
    return queue.blocked_sessions(request.user).count() if full else len(blocked)


def _oldest(asks: Page[Ask], blocked: list[Session]) -> datetime | None:
    """Since when the longest wait waits, on the first page."""
    since = [ask.opened_at for ask in asks[:1]] + [session.moved_at for session in blocked[:1]]
    return min(since, default=None)


@require_safe
def queue_changes(request: OwnerRequest) -> HttpResponse:
    """GET /queue/changes?have=ask-1,session-2: what polling gets when no socket can be had."""
    have = parts.held(request.GET.get("have", ""))
    return HttpResponse(parts.queue_changes(request.user, have).html)
