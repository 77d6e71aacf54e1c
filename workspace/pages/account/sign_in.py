"""Signing in and out, and what a tab that is signed out gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from workspace.pages.errors import signed_out

MAX_NAME = 150
"""Characters of an account's name, as Django's users have it."""


class SignInForm(AuthenticationForm):
    """Django's form, which would leave it to the database to refuse a name that is too long."""

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if len(name) > MAX_NAME:
            raise self.get_invalid_login_error()
        return name


class SignIn(LoginView):
    """GET and POST /login. A person who is signed in already goes on to the queue."""

    template_name = "pages/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True


class SignOut(LogoutView):
    """POST /logout."""

    http_method_names = ["post", "options"]


class OwnersOnly(LoginRequiredMiddleware):
    """Sends whoever is not signed in to the sign-in page; a form that was sent gets its words back.

    Django's own middleware would redirect a POST too: the words would be gone, and the address
    could not be opened afterwards. A request by htmx would swap the sign-in page into a card.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Django's own looks for the person first, also where nobody is needed, as on /healthz."""
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase]
    ) -> HttpResponseBase:
        if request.method not in {"GET", "HEAD"}:
            return signed_out(request)
        response = super().handle_no_permission(request, view_func)
        if request.headers.get("HX-Request") == "true":
            return HttpResponse("You are signed out.", status=401)
        return response
