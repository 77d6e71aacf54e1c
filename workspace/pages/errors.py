"""Pages for what went wrong: one clear sentence, what was typed, and a way on.

None needs the database.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from workspace.pages.owner_request import page_to_return_to, typed_words

TOO_OLD = (
    "This page was too old, or opened in another sign-in, so what it sent was not trusted. "
    "Nothing was recorded."
)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose token is not this sign-in's. Nothing was done; what was typed is given back."""
    del reason  # says which check failed, which helps an attacker more than an owner
    return problem(request, 403, "Nothing was recorded", TOO_OLD, link="Open the page again")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    words = "That could not be read; most likely it was far too long. Nothing was recorded."
    return problem(request, 400, "That could not be read", words, link="Back")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return problem(request, 403, "Not allowed", "This is not yours to see or to do.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Also what a stranger gets for somebody else's things."""
    del exception
    words = "There is nothing at this address, or it is not yours."
    return problem(request, 404, "Not found", words)


def server_error(request: HttpRequest) -> HttpResponse:
    words = "The server failed at this. It may have been recorded or not; trying again is safe."
    return problem(request, 500, "Something broke", words, link="Back")


def signed_out(request: HttpRequest) -> HttpResponse:
    """A form from a tab whose sign-in has ended. Nothing was done; what was typed is given back."""
    words = "You were signed out, so nothing was recorded. Sign in to come back to where you were."
    return problem(request, 401, "You are signed out", words, link="Sign in", sign_in=True)


def problem(
    request: HttpRequest,
    status: int,
    title: str,
    words: str,
    *,
    link: str = "Back to your queue",
    sign_in: bool = False,
) -> HttpResponse:
    """One sentence in the middle of the page, with what had been typed."""
    context = {
        "title": title,
        "words": words,
        "link": link,
        "back": page_to_return_to(request),
        "sign_in": sign_in,
        "typed": typed_words(request) if request.method == "POST" else [],
    }
    return render(request, "pages/problem.html", context, status=status)
