"""What nobody may answer, and the agents that nobody owns, for the people who may change owners."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from asks.queue.unanswerable import agents_without_owner, unanswerable_asks
from workspace.pages.owner_request import OwnerRequest, page_of, render_page


@permission_required("agents.change_agent", raise_exception=True)
@require_safe
def show_handover(request: OwnerRequest) -> HttpResponse:
    """GET /handover/: list them, without the words of any question."""
    waiting = unanswerable_asks().select_related("agent", "answered_by")
    agents = agents_without_owner().prefetch_related("owners")
    return render_page(
        request, "handover", "agents", page=page_of(waiting, request), agents=list(agents[:200])
    )
