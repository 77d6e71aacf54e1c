"""One session: its thread, live; its open asks; a box to write to it; start, stop and resume."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import controls
from agents import messages as session_messages
from agents.events.log import events_after
from agents.models import Event, Session
from asks import access
from asks.queue import places, queries
from workspace.pages import fragments
from workspace.pages.cards import markup
from workspace.pages.owner_request import OwnerRequest, render_page
from workspace.pages.standing import started_words, with_standing

PAGE = 200
"""Events on one page of a thread."""


@require_safe
def show_session(request: OwnerRequest, session_id: int) -> HttpResponse:
    """GET /sessions/<id>/[?before=seq]: show the newest events, or those before one."""
    before = _number(request.GET.get("before"))
    found = _mine(request).filter(pk=session_id).first()
    if found is None:
        return _show_up_to_the_question(request, session_id, before)
    with_standing([found], request.user)
    events = _thread(found, before)
    mine = queries.open_asks(request.user).filter(session=found)
    csrf = get_token(request)
    return render_page(
        request,
        "session",
        "agents",
        session=found,
        events=events,
        live=before is None,
        earlier=events[0].seq if events and events[0].seq > 1 else None,
        cards=markup.ask_cards(places.places_of(mine), csrf=csrf, reader=request.user),
    )


def _show_up_to_the_question(
    request: OwnerRequest, session_id: int, before: int | None
) -> HttpResponse:
    """Show the thread to somebody who answers a question of it, to be read only."""
    until = access.readable_until(request.user, session_id)
    if until is None:
        raise Http404
    found = Session.objects.select_related("agent").get(pk=session_id)
    events = _thread(found, min(before or until + 1, until + 1))
    mine = queries.open_asks(request.user).filter(session=found)
    csrf = get_token(request)
    return render_page(
        request,
        "thread",
        "needs_you",
        session=found,
        events=events,
        earlier=events[0].seq if events and events[0].seq > 1 else None,
        cards=markup.ask_cards(places.places_of(mine), csrf=csrf, reader=request.user),
    )


@require_safe
def list_session_events(request: OwnerRequest, session_id: int) -> HttpResponse:
    """GET /sessions/<id>/events?after=seq: return new events to pages without a socket."""
    found = _find(request, session_id)
    after = _number(request.GET.get("after")) or 0
    if after > found.last_seq:
        return HttpResponse(status=409)
    return HttpResponse(fragments.events_html(events_after(found.pk, after)))


@require_safe
def show_session_changes(request: OwnerRequest, session_id: int) -> HttpResponse:
    """GET /sessions/<id>/changes?have=ask-1: return the page's head and its changed cards."""
    found = _find(request, session_id)
    have = fragments.held_fragments(request.GET.get("have", ""))
    changes = fragments.session_changes(request.user, found, have)
    return HttpResponse(fragments.session_state_html(found, csrf=get_token(request)) + changes.html)


@require_http_methods(["GET", "HEAD", "POST"])
def post_session_message(request: OwnerRequest, session_id: int) -> HttpResponse:
    """POST /sessions/<id>/message: send a message to the session, which starts its next turn."""
    if request.method != "POST":
        return redirect("session", session_id)
    found = _find(request, session_id)
    text = request.POST.get("text", "")
    problem = _post(request, found, text)
    if problem:
        status, words = problem
        return _not_sent(request, found, words, text, status=status)
    return _sent(request, found)


def _post(request: OwnerRequest, found: Session, text: str) -> tuple[int, str] | None:
    """Post the message. Return None, or the HTTP status and the reason of a refusal."""
    if "\x00" in text:
        return 422, _("The message holds a NUL character, which is not kept.")
    if len(text) > session_messages.MESSAGE_LIMIT:
        reason = _("The message has {length} characters; the limit is {limit}.")
        return 422, reason.format(length=len(text), limit=session_messages.MESSAGE_LIMIT)
    try:
        session_messages.post_message(session_id=found.pk, by=request.user, text=text)
    except session_messages.EmptyMessage as error:
        return 422, str(error)
    except session_messages.SessionIsOver as error:
        return 409, str(error)
    return None


def _sent(request: OwnerRequest, found: Session) -> HttpResponse:
    words = _("Sent. {agent} reads it in its next turn.").format(agent=found.agent.slug)
    if not request.htmx:
        messages.success(request, words)
        return redirect("session", found.pk)
    if request.POST.get("from") == "card":
        card = markup.moved_on_card(found.pk, words=words, mine=True)
        return HttpResponse(card + fragments.badge_html(queries.count_badge(request.user)))
    return HttpResponse(
        fragments.composer_html(found, csrf=get_token(request), sent=True)
        + fragments.toast_html(words)
    )


def _not_sent(
    request: OwnerRequest, found: Session, words: str, text: str, *, status: int
) -> HttpResponse:
    typed, csrf = text.replace("\x00", "\ufffd"), get_token(request)
    if not request.htmx:
        composer = fragments.composer_html(found, csrf=csrf, refused=words, typed=typed)
        return render_page(
            request, "message", "agents", status=status, session=found, composer=composer
        )
    if request.POST.get("from") == "card":
        said = markup.last_words([found]).get(found.pk, "")
        html: str = markup.blocked_card(found, csrf=csrf, said=said, refused=words, typed=typed)
    else:
        html = fragments.composer_html(found, csrf=csrf, refused=words, typed=typed)
    response = HttpResponse(html, status=status)
    response["X-Card"] = f"session-{found.pk}"
    return response


def _steer_session(
    verb: Callable[..., object], done: Promise, *, starts: bool = False
) -> Callable[[OwnerRequest, int], HttpResponse]:
    @require_POST
    def view(request: OwnerRequest, session_id: int) -> HttpResponse:
        found = _find(request, session_id)
        verb(session_id=found.pk, by=request.user)
        slug = found.agent.slug
        words = started_words(str(done), slug) if starts else str(done).format(agent=slug)
        messages.success(request, words)
        return redirect("session", found.pk)

    return view


post_session_start = _steer_session(
    controls.start_session, gettext_lazy("{agent} is started."), starts=True
)
post_session_resume = _steer_session(controls.resume_session, gettext_lazy("{agent} is resumed."))
post_session_stop = _steer_session(
    controls.stop_session,
    gettext_lazy("The run of {agent} is stopped. The next run gets what it was given."),
)


def _mine(request: OwnerRequest) -> QuerySet[Session]:
    return access.sessions_of(request.user).select_related("agent")


def _find(request: OwnerRequest, session_id: int) -> Session:
    return with_standing([get_object_or_404(_mine(request), pk=session_id)], request.user)[0]


def _thread(found: Session, before: int | None) -> list[Event]:
    events = found.events.select_related("run").exclude(kind="noted")
    if before is not None:
        events = events.filter(seq__lt=before)
    return list(reversed(events.order_by("-seq")[:PAGE]))


def _number(text: str | None) -> int | None:
    """Parse a sequence number from the query string; None if it is absent.

    Raises Http404 for anything else.
    """
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Http404
    return int(text)
