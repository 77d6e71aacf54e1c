"""The queue: cards that wait for the reader, followed by sessions that do not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from agents.models import Agent, Session
from asks import access
from asks.queue import places as queue_places
from asks.queue import queries
from asks.queue.places import PAGE_SIZE, QUIET, CardPlace
from workspace.pages import fragments
from workspace.pages.cards import failing, markup
from workspace.pages.keyset import KeysetPage
from workspace.pages.owner_request import OwnerRequest, page_of, render_page
from workspace.pages.session_pane import SessionPane, pane_of
from workspace.pages.standing import standing_of, with_standing


@require_safe
def show_queue(request: OwnerRequest) -> HttpResponse:
    """GET /: show open asks and blocked sessions, longest wait first."""
    page, places = _page(request)
    has_later = page is not None and page.has_later
    blocked = queue_places.blocked_places(request.user)
    broken = failing.first_failing(request.user)
    others = with_standing(queue_places.others(request.user), request.user)
    quiet = [session for session in others if not standing_of(session).is_working]
    return render_page(
        request,
        "needs_you",
        "needs_you",
        page=page,
        cards=[
            *_cards(request, places, [] if has_later else blocked),
            *([] if has_later else _broken(broken, get_token(request))),
        ],
        badge=_badge(request, page, places, blocked) + len(broken),
        oldest=_oldest(places, blocked, broken),
        running=[session for session in others if standing_of(session).is_running],
        queued=[session for session in others if standing_of(session).waits_for_a_worker],
        quiet=quiet[:QUIET],
        more_quiet=len(quiet) > QUIET,
        notices=queue_places.notices(request.user),
        pane=_pane_of_first(request, places, blocked),
    )


def _page(request: OwnerRequest) -> tuple[KeysetPage | None, list[CardPlace]]:
    """Return the requested page and its places; None for the page if there is only one."""
    first = queue_places.first_places(request.user)
    if len(first) <= PAGE_SIZE:
        return None, first
    page = page_of(queries.open_in_order(request.user), request)
    shown = queries.open_asks(request.user).filter(pk__in=[ask.pk for ask in page])
    return page, queue_places.places_of(shown)


@require_safe
def show_session_pane(request: OwnerRequest, session_id: int) -> HttpResponse:
    """GET /sessions/<id>/pane: show another card's pane as the reader moves through the queue."""
    pane = pane_of(session_id, request.user)
    if pane is None:
        mine = access.sessions_of(request.user).select_related("agent")
        pane = SessionPane(get_object_or_404(mine, pk=session_id), [])
    return render(request, "parts/pane.html", {"pane": pane})


def _pane_of_first(
    request: OwnerRequest, places: Sequence[CardPlace], blocked: list[Session]
) -> SessionPane | None:
    """Return the pane of the first card."""
    first = [place.session_id for place in places[:1]] or [session.pk for session in blocked[:1]]
    return pane_of(first[0], request.user) if first else None


def _cards(request: OwnerRequest, places: Sequence[CardPlace], blocked: list[Session]) -> list[str]:
    """Render asks, then blocked sessions, each by length of wait."""
    csrf = get_token(request)
    said = markup.last_words(blocked)
    stuck = [
        markup.blocked_card(session, csrf=csrf, said=said.get(session.pk, ""))
        for session in blocked
    ]
    return [*markup.ask_cards(places, csrf=csrf, reader=request.user), *stuck]


def _broken(agents: list[Agent], csrf: str) -> list[SafeString]:
    return [failing.failing_card(agent, csrf=csrf) for agent in agents]


def _badge(
    request: OwnerRequest,
    page: KeysetPage | None,
    places: Sequence[CardPlace],
    blocked: list[Session],
) -> int:
    """Return how many asks and blocked sessions wait. One page, the usual case, is not counted again."""
    asks = page.count if page else len(places)
    return asks + _count(request, blocked)


def _count(request: OwnerRequest, blocked: list[Session]) -> int:
    full = len(blocked) == PAGE_SIZE
    return queries.blocked_sessions(request.user).count() if full else len(blocked)


def _oldest(
    places: Sequence[CardPlace], blocked: list[Session], broken: list[Agent]
) -> datetime | None:
    """Return when the longest wait began; None if nothing waits."""
    since = [place.opened_at for place in places[:1]]
    since += [session.moved_at for session in blocked[:1]]
    return min(since + [vars(agent)["failing_since"] for agent in broken[:1]], default=None)


@require_safe
def show_badge(request: OwnerRequest) -> HttpResponse:
    """GET /queue/badge: return the number of waiting cards to pages that poll."""
    return HttpResponse(fragments.badge_html(queries.count_badge(request.user)))


@require_safe
def show_queue_changes(request: OwnerRequest) -> HttpResponse:
    """GET /queue/changes?have=ask-1,session-2: return changes to pages without a socket."""
    have = fragments.held_fragments(request.GET.get("have", ""))
    return HttpResponse(fragments.queue_changes(request.user, have).html)
