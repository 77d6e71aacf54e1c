"""Edit an agent, and retire it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from agents.lifecycle import LIVE_RUNS
from agents.mending.checks import check_agent
from agents.mending.editing import StaleEdit
from agents.models import Agent, Run
from agents.running import runtime
from asks import access
from asks.ledger.agent_records import RecordedChange, changes_of
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.retirement import retire_agent
from workspace.pages.mending.agent_form import AgentForm
from workspace.pages.owner_request import OwnerRequest, render_page


def runtime_in(request: OwnerRequest, usual: str) -> str:
    """Return the runtime that a request names, or else the usual one. Raises Http404."""
    named = request.POST.get("runtime") or request.GET.get("runtime") or usual
    if named not in runtime.runtime_keys():
        raise Http404
    return named


@require_http_methods(["GET", "HEAD", "POST"])
def edit_agent(request: OwnerRequest, slug: str) -> HttpResponse:
    """GET and POST /agents/<slug>/edit: change what it is and, with the permission, how it runs."""
    found = get_object_or_404(access.agents_steered_by(request.user), slug=slug)
    rewires = access.may_rewire(request.user)
    key = runtime_in(request, found.runtime) if rewires else found.runtime
    form = AgentForm(request.POST or None, runtime_key=key, agent=found, rewires=rewires)
    others: list[RecordedChange] = []
    if request.method == "POST" and form.is_valid():
        try:
            saved = form.save(
                by=request.user, version=_version(request), insist="insist" in request.POST
            )
        except StaleEdit as stale:
            found, saved = stale.agent, None
            others = changes_of(stale.agent, since_version=stale.seen)
            form.add_error(None, _("Somebody else changed this agent while you were editing it."))
        if saved is not None:
            return _saved(request, saved)
    return render_page(
        request,
        "agent_edit",
        "agents",
        status=_status(request, form),
        agent=found,
        form=form,
        others=others,
        insists="insist" in request.POST,
        runtimes=runtime.runtime_keys(),
    )


def _status(request: OwnerRequest, form: AgentForm) -> int:
    if request.method != "POST":
        return 200
    return 409 if form.has_error("__all__") else 422


def _version(request: OwnerRequest) -> int:
    text = request.POST.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _saved(request: OwnerRequest, agent: Agent) -> HttpResponse:
    messages.success(request, _("{agent} is saved.").format(agent=agent.slug))
    for note in (
        check_agent(agent.runtime, agent.settings) if access.may_rewire(request.user) else []
    ):
        messages.info(request, note.text)
    return redirect("agent", agent.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def retire(request: OwnerRequest, slug: str) -> HttpResponse:
    """GET /agents/<slug>/retire: say what it ends. POST: retire the agent."""
    found = get_object_or_404(access.agents_steered_by(request.user), slug=slug)
    if request.method == "POST":
        done = retire_agent(agent_id=found.pk, by=request.user)
        retired, before = _("{agent} is retired."), _("{agent} is retired already.")
        messages.success(request, (retired if done else before).format(agent=slug))
        return redirect("agent", slug)
    return render_page(
        request,
        "agent_retire",
        "agents",
        agent=found,
        asks=Ask.objects.filter(agent=found, status=AskStatus.OPEN).count(),
        runs=Run.objects.filter(session__agent=found, status__in=LIVE_RUNS).count(),
    )
