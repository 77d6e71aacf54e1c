"""Live grants: what an agent may do once, and taking that back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from asks.actions import taking_back
from asks.actions.action_words import name_action
from asks.models import Grant
from asks.refusals import Refused
from workspace.pages.owner_request import OwnerRequest


@dataclass(frozen=True)
class GrantFacts:
    """What a page shows of a live grant. ``session_id`` is where it was approved."""

    pk: int
    session_id: int
    action: str
    by_policy: bool


def live_facts(grants: QuerySet[Grant]) -> Sequence[GrantFacts]:
    """Return the live ones of some grants. The action of a confidential question is not named."""
    return [_facts(grant) for grant in taking_back.live_grants(grants)]


def _facts(grant: Grant) -> GrantFacts:
    action = name_action(grant.operation, grant.params)
    if grant.ask is not None and grant.ask.confidential:
        action = _("a confidential action")
    return GrantFacts(grant.pk, grant.session_id, action, by_policy=grant.ask is None)


@require_POST
def post_take_back(request: OwnerRequest, grant_id: int) -> HttpResponse:
    """POST /grants/<id>/take-back: take back an approval that was not used yet."""
    done = taking_back.take_back(grant_id=grant_id, by=request.user)
    if isinstance(done, Refused):
        found = taking_back.grants_of(request.user).filter(pk=grant_id).first()
        if found is None:
            raise Http404
        messages.error(request, done.detail)
        return redirect("session", found.session_id)
    messages.success(request, _("You took it back. The agent has to ask again."))
    return redirect("session", done.session_id)
