"""Sessions that failed repeatedly and stopped: the error, and a button to retry."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents import controls
from agents.lifecycle import RunStatus, SessionState
from agents.models import Run, Session
from asks import access
from workspace.pages.owner_request import OwnerRequest, page_of, render_page
from workspace.pages.standing import started_words


def given_up_of(person: AbstractBaseUser) -> QuerySet[Session]:
    """Return a person's sessions that are paused because their last run failed, newest first."""
    newest = Run.objects.filter(session=OuterRef("pk")).order_by("-number")
    paused = access.sessions_of(person).filter(state=SessionState.PAUSED)
    with_last_run = paused.annotate(
        last_status=Subquery(newest.values("status")[:1]),
        last_error=Subquery(newest.values("error")[:1]),
        last_number=Subquery(newest.values("number")[:1]),
    )
    failed = with_last_run.filter(last_status=RunStatus.FAILED)
    return failed.select_related("agent").order_by("-moved_at", "-pk")


@require_safe
def list_given_up(request: OwnerRequest) -> HttpResponse:
    """GET /given-up/: list every session that was given up."""
    return render_page(
        request, "given_up", "agents", page=page_of(given_up_of(request.user), request)
    )


@require_POST
def post_retry(request: OwnerRequest, session_id: int) -> HttpResponse:
    """POST /given-up/<id>/retry: continue the session with its unread messages and answers."""
    found = get_object_or_404(given_up_of(request.user), pk=session_id)
    controls.resume_session(session_id=found.pk, by=request.user)
    words = started_words(_("{agent} tries it again."), found.agent.slug)
    messages.success(request, words)
    return redirect("given_up")
