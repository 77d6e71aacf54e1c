"""Closed asks by how they closed, and refused answers."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from asks import access
from asks.lifecycle import AskStatus
from asks.models import Refusal
from asks.queue import queries
from workspace.pages.owner_request import OwnerRequest, page_of, render_page

#: The values of `?show=` with their labels on the page.
FILTERS = {
    "": gettext_lazy("All"),
    AskStatus.ANSWERED.value: gettext_lazy("Answered"),
    AskStatus.WITHDRAWN.value: gettext_lazy("Withdrawn"),
    AskStatus.EXPIRED.value: gettext_lazy("Expired"),
    AskStatus.SUPERSEDED.value: gettext_lazy("Asked again"),
    "refused": gettext_lazy("Refused"),
}


@require_safe
def list_decisions(request: OwnerRequest) -> HttpResponse:
    """GET /decisions/[?show=…][&agent=slug]: list decisions, newest first."""
    chosen = request.GET.get("show", "")
    chosen = chosen if chosen in FILTERS else ""
    slug = request.GET.get("agent", "").replace("\x00", "")
    rows = _refusals(request, slug) if chosen == "refused" else _closed(request, chosen, slug)
    kept = {name: value for name, value in (("show", chosen), ("agent", slug)) if value}
    query = urlencode(kept) + "&" if kept else ""
    return render_page(
        request,
        "decisions",
        "decisions",
        filters=[(value, label, value == chosen) for value, label in FILTERS.items()],
        page=page_of(rows, request),
        query=query,
        chosen=chosen,
        agent=slug,
    )


def _closed(request: OwnerRequest, status: str, slug: str) -> QuerySet[Any]:
    asks = queries.decided_asks(request.user)
    asks = asks.filter(status=status) if status else asks
    return asks.filter(agent__slug=slug) if slug else asks


def _refusals(request: OwnerRequest, slug: str) -> QuerySet[Refusal]:
    """Return refused answers, by anybody, to asks of the reader's agents."""
    mine = Refusal.objects.filter(ask__in=access.asks_of(request.user))
    mine = mine.filter(ask__agent__slug=slug) if slug else mine
    return mine.select_related("ask__agent", "by").order_by("-created_at", "-pk")
