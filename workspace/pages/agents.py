"""Agents: the list, one agent, connecting a new one, starting, pausing and resuming."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Count, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import controls
from agents.models import Agent, Session
from agents.running import runtime
from asks import access
from asks.ledger.agent_records import changes_of
from asks.models import Grant
from asks.queue import queries
from asks.retirement import restore_agent
from workspace.pages.authority.grants import live_facts
from workspace.pages.given_up import given_up_of
from workspace.pages.mending.agent_form import AgentForm
from workspace.pages.mending.agent_wording import wake_in_words
from workspace.pages.mending.editing import runtime_in
from workspace.pages.owner_request import OwnerRequest, page_of, render_page
from workspace.pages.standing import started_words, with_standing


@require_safe
def list_agents(request: OwnerRequest) -> HttpResponse:
    """GET /agents/: list the reader's agents with their status and its reason."""
    page = page_of(_with_home(request), request)
    with_standing([session for agent in page for session in agent.home], request.user)
    return render_page(request, "agents", "agents", page=page)


@require_safe
def show_agent(request: OwnerRequest, slug: str) -> HttpResponse:
    """GET /agents/<slug>/: show its purpose, wake policy, sessions and latest decisions.

    Somebody who may change every agent, but does not own this one, sees its settings only.
    """
    found = _with_home(request).filter(slug=slug).first()
    if found is None and (thread := _thread_to_read(request, slug)):
        return redirect("session", thread)
    if found is None:
        return _show_settings(request, slug)
    home = found.sessions.select_related("agent").filter(is_home=True).first()
    page = page_of(found.sessions.order_by("-is_home", "-created_at", "-pk"), request)
    with_standing([*([home] if home else []), *page], request.user)
    return render_page(
        request,
        "agent",
        "agents",
        agent=found,
        owns=True,
        home=home,
        grants=live_facts(Grant.objects.filter(session__agent=found)),
        wakes=wake_in_words(found.wake_policy),
        owners=list(found.owners.order_by("username")),
        page=page,
        decided=list(queries.decided_asks(request.user).filter(agent=found)[:5]),
        changes=changes_of(found, most=5),
    )


def _thread_to_read(request: OwnerRequest, slug: str) -> int | None:
    """Return the session whose thread somebody reads who answers its questions, but owns nothing."""
    if request.user.has_perm("agents.change_agent"):
        return None
    asks = access.asks_of(request.user).filter(agent__slug=slug).order_by("-pk")
    return asks.values_list("session_id", flat=True).first()


def _show_settings(request: OwnerRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(access.agents_steered_by(request.user), slug=slug)
    return render_page(
        request,
        "agent",
        "agents",
        agent=found,
        owns=False,
        wakes=wake_in_words(found.wake_policy),
        owners=list(found.owners.order_by("username")),
        changes=changes_of(found, most=5),
    )


@permission_required("agents.add_agent", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def connect_agent(request: OwnerRequest) -> HttpResponse:
    """GET and POST /agents/new?runtime=KEY: connect an agent owned by the reader.

    An agent can be any command on this server, so it takes the permission to add agents.
    """
    key = runtime_in(request, "markers")
    form = AgentForm(request.POST or None, runtime_key=key)
    if request.method == "POST" and form.is_valid():
        created = form.connect(owner=request.user, insist="insist" in request.POST)
        if created is not None:
            messages.success(request, _("{agent} is connected.").format(agent=created.slug))
            return redirect("agent", created.slug)
    status = 422 if request.method == "POST" else 200
    return render_page(
        request,
        "agent_new",
        "agents",
        status=status,
        form=form,
        insists="insist" in request.POST,
        runtimes=runtime.runtime_keys(),
    )


def _steer_agent(
    verb: Callable[..., object], done: Promise
) -> Callable[[OwnerRequest, str], HttpResponse]:
    @require_POST
    def view(request: OwnerRequest, slug: str) -> HttpResponse:
        found = get_object_or_404(access.agents_steered_by(request.user), slug=slug)
        verb(agent_id=found.pk, by=request.user)
        messages.success(request, str(done).format(agent=found.slug))
        return redirect("agent", found.slug)

    return view


post_agent_pause = _steer_agent(
    controls.pause_agent,
    gettext_lazy("{agent} is paused: it starts nothing until you resume it."),
)
post_agent_resume = _steer_agent(controls.resume_agent, gettext_lazy("{agent} is resumed."))
post_agent_restore = _steer_agent(
    restore_agent,
    gettext_lazy("{agent} is restored, paused: it starts nothing until you resume it."),
)


@require_POST
def post_agent_start(request: OwnerRequest, slug: str) -> HttpResponse:
    """POST /agents/<slug>/start: start its home session and show it."""
    found = get_object_or_404(access.agents_of(request.user), slug=slug)
    home = get_object_or_404(found.sessions, is_home=True)
    run = controls.start_session(session_id=home.pk, by=request.user)
    done, refused = _("{agent} is started."), _("{agent} cannot be started: it is retired.")
    words = started_words(done, slug) if run else refused.format(agent=slug)
    messages.success(request, words)
    return redirect("session", home.pk)


@require_POST
def post_agent_retry(request: OwnerRequest, slug: str) -> HttpResponse:
    """POST /agents/<slug>/retry: start its failing sessions again."""
    found = get_object_or_404(access.agents_of(request.user), slug=slug)
    started = controls.retry_failing(agent_id=found.pk, by=request.user)
    nothing = _("{agent} has nothing to try again.").format(agent=slug)
    done = started_words(_("{agent} tries it again."), slug)
    messages.success(request, done if started else nothing)
    return redirect("needs_you")


def _with_home(request: OwnerRequest) -> QuerySet[Agent]:
    """Return the reader's agents with their home session, the number of asks that wait for the
    reader and the number of sessions that were given up. Two queries."""
    home = Prefetch("sessions", Session.objects.filter(is_home=True), to_attr="home")
    waiting = Count("asks", filter=Q(asks__in=access.asks_for(request.user).values("pk")))
    dead = given_up_of(request.user).filter(agent=OuterRef("pk")).order_by().values("agent")
    given_up = Subquery(dead.annotate(number=Count("pk")).values("number"))
    mine = access.agents_of(request.user).annotate(waiting=waiting, given_up=given_up)
    return mine.prefetch_related(home).order_by("slug")
