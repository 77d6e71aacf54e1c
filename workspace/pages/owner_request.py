"""Helpers for a page's request: its person, its rendering and its posted texts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.core.exceptions import DisallowedHost
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from asks.queue.places import PAGE_SIZE
from workspace.pages.keyset import KeysetPage

SECRET_FIELDS = frozenset(
    {"csrfmiddlewaretoken", "password", "next", "confirmed", "send", "option"}
)
BINDING_FIELDS = frozenset({"action_hash", "policy_version", "run_version"})


class OwnerRequest(HttpRequest):
    """A request of a signed-in person; the login middleware admits only these."""

    user: User
    htmx: HtmxDetails


def page_of(rows: QuerySet[Any], request: HttpRequest) -> KeysetPage:
    """Return the page that the address names, or the first one. The rows need a total order."""
    return KeysetPage(rows, request, PAGE_SIZE)


def render_page(
    request: HttpRequest, name: str, here: str, *, status: int = 200, **context: object
) -> HttpResponse:
    """Render a whole page. `here` names its entry in the navigation."""
    return render(request, f"pages/{name}.html", {"here": here, **context}, status=status)


def typed_words(request: HttpRequest) -> list[str]:
    """Return the texts typed into a rejected form, so that a page can show them again."""
    try:
        fields = [(name, value) for name, value in request.POST.items() if isinstance(value, str)]
    except Exception:  # noqa: BLE001 -- a body that cannot be read holds nothing to give back
        return []
    withheld = SECRET_FIELDS | BINDING_FIELDS
    return [value for name, value in fields if name not in withheld and value.strip()]


def page_to_return_to(request: HttpRequest) -> str:
    """Return the path of the form's page if it is one of ours; otherwise the queue."""
    came_from = request.headers.get("Referer", "")
    try:
        here = {request.get_host()}
    except DisallowedHost:
        here = set()
    if url_has_allowed_host_and_scheme(came_from, here, require_https=request.is_secure()):
        path = urlsplit(came_from).path
        try:
            resolve(path)
        except Resolver404:
            pass
        else:
            return path
    return reverse("needs_you")
