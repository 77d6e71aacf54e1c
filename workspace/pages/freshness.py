"""Keep private pages out of every store: Back shows what is true now, not what was true then."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def forbid_storing(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: say `no-store` where a view says nothing about caching."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return answer
