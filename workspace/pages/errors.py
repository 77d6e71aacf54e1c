"""Error pages: one clear sentence, what was typed, and a link to continue.

They work without the database.
"""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workspace.health.look import is_outage, keep, what_failed
from workspace.health.words import what_is_wrong
from workspace.pages.owner_request import page_to_return_to, typed_words

RETRY_SECONDS = 10
TOO_OLD = gettext_lazy(
    "This page was too old, or opened in another sign-in, so what it sent was not trusted. "
    "Nothing was recorded."
)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Reject a form whose token belongs to another sign-in. Return what was typed."""
    del reason  # says which check failed, which helps an attacker more than an owner
    return problem(
        request, 403, _("Nothing was recorded"), str(TOO_OLD), link=_("Open the page again")
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    words = _("That could not be read; most likely it was far too long. Nothing was recorded.")
    return problem(request, 400, _("That could not be read"), words, link=_("Back"))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return problem(request, 403, _("Not allowed"), _("This is not yours to see or to do."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404 also for things that belong to somebody else."""
    del exception
    words = _("There is nothing at this address, or it is not yours.")
    return problem(request, 404, _("Not found"), words)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 with the words of the health check if the database is why, without asking it again."""
    error = sys.exc_info()[1]
    if isinstance(error, Exception) and is_outage(error):
        return _without_the_database(request, error)
    words = _("The server failed at this. It may have been recorded or not; trying again is safe.")
    return problem(request, 500, _("Something broke"), words, link=_("Back"))


def _without_the_database(request: HttpRequest, error: Exception) -> HttpResponse:
    found = what_failed(error)
    keep(found)
    (sentence,) = what_is_wrong(found).values()
    advice = _("It may have been recorded or not; trying again is safe.")
    response = problem(
        request, 503, _("The workspace cannot work"), f"{sentence} {advice}", link=_("Try again")
    )
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def signed_out(request: HttpRequest) -> HttpResponse:
    """Reject a form from a tab whose sign-in has ended. Return what was typed."""
    words = _(
        "You were signed out, so nothing was recorded. Sign in to come back to where you were."
    )
    return problem(request, 401, _("You are signed out"), words, link=_("Sign in"), sign_in=True)


def problem(
    request: HttpRequest,
    status: int,
    title: str,
    words: str,
    *,
    link: str = "",
    sign_in: bool = False,
) -> HttpResponse:
    """Render a page with one sentence and whatever had been typed. An empty ``link`` is the queue's."""
    context = {
        "title": title,
        "words": words,
        "link": link or _("Back to your queue"),
        "back": page_to_return_to(request),
        "sign_in": sign_in,
        "typed": typed_words(request) if request.method == "POST" else [],
    }
    return render(request, "pages/problem.html", context, status=status)
