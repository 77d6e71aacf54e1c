"""The backlog of asks that expired undecided. Ask again, or dismiss with a reason."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from asks import backlog as undecided
from asks.lifecycle import Reason
from asks.refusals import Refused
from workspace.pages.owner_request import OwnerRequest, page_of, render_page


@require_safe
def list_backlog(request: OwnerRequest) -> HttpResponse:
    """GET /backlog/: list undecided asks, oldest first."""
    return _page(request)


def _page(
    request: OwnerRequest, *, status: int = 200, refused: Refused | None = None, typed: str = ""
) -> HttpResponse:
    page = page_of(undecided.backlog_asks(request.user), request)
    shown = {ask.pk for ask in page}
    where = refused.ask.pk if refused and refused.ask else None
    return render_page(
        request,
        "backlog",
        "backlog",
        status=status,
        page=page,
        shown=shown,
        refused=refused,
        refused_ask=where,
        typed=typed,
    )


@require_http_methods(["GET", "HEAD", "POST"])
def post_ask_again(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/again: ask an expired question again, bound to the present state."""
    if request.method != "POST":
        return redirect("backlog")
    result = undecided.reopen_ask(ask_id=ask_id, by=request.user)
    if isinstance(result, Refused):
        return _refused(request, result)
    messages.success(request, _("It is asked again. Nothing was approved meanwhile."))
    return redirect("ask", result.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def post_dismissal(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/drop: dismiss the ask, with a reason."""
    if request.method != "POST":
        return redirect("backlog")
    reason = request.POST.get("reason", "")
    result = undecided.dismiss_ask(ask_id=ask_id, by=request.user, reason=reason)
    if isinstance(result, Refused):
        return _refused(request, result, reason)
    messages.success(request, _("Dismissed. Nothing was approved."))
    return redirect("backlog")


def _refused(request: OwnerRequest, refused: Refused, typed: str = "") -> HttpResponse:
    if refused.ask is None or refused.reason == Reason.NOT_FOUND:
        raise Http404
    return _page(request, status=refused.http_status, refused=refused, typed=typed)
