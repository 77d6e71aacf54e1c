"""The site with one more page: the cost of a signed-in person's page without content."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from workspace import urls


def trivial(request: HttpRequest) -> HttpResponse:
    """Show the user name, with the middleware, session and account of every page."""
    return HttpResponse(request.user.get_username())


urlpatterns = [*urls.urlpatterns, path("trivial", trivial)]
