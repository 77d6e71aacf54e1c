"""Signing in and out, and what a tab that is signed out gets."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from workspace.pages.errors import signed_out


class SignIn(LoginView):
    """GET and POST /login. A person who is signed in already goes on to the queue."""

    template_name = "login.html"
    redirect_authenticated_user = True


class SignOut(LogoutView):
    """POST /logout."""

    http_method_names = ["post", "options"]


class OwnersOnly(LoginRequiredMiddleware):
    """Sends whoever is not signed in to the sign-in page; a form that was sent gets its words back.

    Django's own middleware would redirect a POST too: the words would be gone, and the address could not be opened
    afterwards. A request by htmx would swap the sign-in page into a card.
    """

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseBase:
        if request.method not in {"GET", "HEAD"}:
            return signed_out(request)
        response = super().handle_no_permission(request, view_func)
        if request.headers.get("HX-Request") == "true":
            return HttpResponse("You are signed out.", status=401)
        return response
