"""Claim an ask, release it or extend its deadline. Each renders the updated card."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from asks import claiming
from asks.deadlines.extension import extend_deadline
from asks.models import Ask
from asks.refusals import Refused
from workspace.pages.asks import card_of, find_ask, refused_card
from workspace.pages.owner_request import OwnerRequest

Verb = Callable[[], Ask | Refused]


@require_http_methods(["GET", "HEAD", "POST"])
def post_claim(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/claim: claim it for the reader; `take_over` replaces another claim."""
    take_over = bool(request.POST.get("take_over"))
    verb = lambda: claiming.claim_ask(ask_id=ask_id, by=request.user, take_over=take_over)  # noqa: E731
    return _do(request, ask_id, verb, _("You have claimed the question."))


@require_http_methods(["GET", "HEAD", "POST"])
def post_release(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/release: remove the claim."""
    verb = lambda: claiming.release_ask(ask_id=ask_id, by=request.user)  # noqa: E731
    return _do(request, ask_id, verb, _("The question is anybody's again."))


@require_http_methods(["GET", "HEAD", "POST"])
def post_extension(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/extend: restart the deadline from now."""
    verb = lambda: extend_deadline(ask_id=ask_id, by=request.user)  # noqa: E731
    return _do(request, ask_id, verb, _("The question has more time."))


def _do(request: OwnerRequest, ask_id: int, verb: Verb, words: str) -> HttpResponse:
    if request.method != "POST":
        return redirect("ask", ask_id)
    result = verb()
    if isinstance(result, Refused):
        return refused_card(request, result)
    if not request.htmx:
        messages.success(request, words)
        return redirect("ask", ask_id)
    return HttpResponse(card_of(request, find_ask(request.user, ask_id)))
