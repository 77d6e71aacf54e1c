"""Show what an agent's next turn would tell it, word for word where the runtime can say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agents import claims
from agents.models import Agent
from agents.running import runtime
from agents.running.runtime import Given
from asks import access
from asks.models import Ask
from workspace.pages.owner_request import OwnerRequest, render_page


@require_safe
def show_told(request: OwnerRequest, slug: str) -> HttpResponse:
    """GET /agents/<slug>/told: show the prompt that the home session's next turn would begin with."""
    found = get_object_or_404(access.agents_of(request.user), slug=slug)
    prompt, problem = prompt_of(found, request.user)
    return render_page(request, "agent_told", "agents", agent=found, prompt=prompt, problem=problem)


def prompt_of(agent: Agent, reader: AbstractBaseUser) -> tuple[str, str]:
    """Return the prompt of the next turn, and why there is none. One of them is empty."""
    home = agent.sessions.select_related("agent").filter(is_home=True).first()
    try:
        taker: Any = runtime.find_runtime(agent.runtime)
    except LookupError as error:
        return "", str(error)
    if home is None or not hasattr(taker, "show_prompt"):
        return "", _("The runtime “{name}” cannot show its prompt.").format(name=agent.runtime)
    turn = claims.peek_turn(home)
    turn = replace(turn, given=tuple(_as_read_by(reader, given) for given in turn.given))
    try:
        return str(taker.show_prompt(turn)), ""
    except Exception as error:  # noqa: BLE001 -- a runtime imports what its owner wrote
        why = f"{type(error).__name__}: {error}"[:500]
        return "", _("The prompt cannot be written: {error}").format(error=why)


def _as_read_by(reader: AbstractBaseUser, given: Given) -> Given:
    """Return an item without the words of a decision that is hidden from the reader."""
    ask_id = given.data.get("ask_id")
    if given.kind != "verdict" or not isinstance(ask_id, int):
        return given
    ask = Ask.objects.select_related("agent").filter(pk=ask_id).first()
    if ask is None or not ask.confidential or access.may_see(reader, ask):
        return given
    hidden = _("(a confidential decision, which you may not read)")
    return replace(given, body=hidden, data={"ask_id": ask_id, "prompt": hidden})
