"""Pages that say what went wrong and what to do about it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return HttpResponse("This form is out of date. Load the page again.", status=403)
