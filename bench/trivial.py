"""The site with one page more: what a signed-in person's page costs before it shows anything."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from workspace import urls


def trivial(request: HttpRequest) -> HttpResponse:
    """A person's name, through the middleware, the session and the account that every page goes by."""
    return HttpResponse(request.user.get_username())


urlpatterns = [*urls.urlpatterns, path("trivial", trivial)]
