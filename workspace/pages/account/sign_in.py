"""Sign in and out, and answer requests from signed-out tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _

from workspace.pages.errors import signed_out

MAX_NAME = 150
"""The maximum length of Django's user names, in characters."""


class SignInForm(AuthenticationForm):
    """Django's form, plus a check of the name's length, which Django leaves to the database."""

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if len(name) > MAX_NAME:
            raise self.get_invalid_login_error()
        return name


class SignIn(LoginView):
    """GET and POST /login. Redirect people who are already signed in to the queue."""

    template_name = "pages/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True


class SignOut(LogoutView):
    """POST /logout."""

    http_method_names = ["post", "options"]


class OwnersOnly(LoginRequiredMiddleware):
    """Redirect signed-out requests to the sign-in page; return the texts of a posted form.

    Django's own middleware would redirect a POST too and lose its texts. A request by htmx would swap
    the sign-in page into a card.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Skip the query for the person on pages that need no login, such as /healthz."""
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
            return HttpResponse(_("You are signed out."), status=401)
        return response
