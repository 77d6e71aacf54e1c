"""When a person last proved their identity, and the page to do so again.

Signing in counts as proof. The login's session stores the moment by the database's clock.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.db.expressions import database_now
from workspace.pages.owner_request import OwnerRequest, render_page

KEY = "proved_at"


class ProofForm(forms.Form):
    """The password of the signed-in person. Wrong attempts are throttled like sign-ins."""

    password = forms.CharField(
        max_length=4096, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, request: OwnerRequest, data: Any = None) -> None:  # noqa: ANN401 -- a form's data
        super().__init__(data)
        self._request = request

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        name = self._request.user.get_username()
        person = authenticate(self._request, username=name, password=password)
        if person is None or person.pk != self._request.user.pk:
            raise forms.ValidationError(_("That is not your password."))
        return password


@receiver(user_logged_in, dispatch_uid="workspace.pages.reauthentication")
def _remember(request: HttpRequest, **__: object) -> None:
    remember_proof(request)


def remember_proof(request: HttpRequest) -> None:
    """Store that the person proved their identity now."""
    request.session[KEY] = database_now().isoformat()


def proved_at(request: HttpRequest) -> datetime | None:
    """Return when the person last proved it in this login; None if never."""
    try:
        return datetime.fromisoformat(request.session.get(KEY, ""))
    except (TypeError, ValueError):
        return None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_identity(request: OwnerRequest) -> HttpResponse:
    """GET and POST /prove?next=…: ask for the password, then return to the page that required it."""
    back = request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}):
        back = "/"
    form = ProofForm(request, request.POST if request.method == "POST" else None)
    if form.is_valid():
        remember_proof(request)
        return redirect(back)
    status = 422 if form.is_bound else 200
    return render_page(request, "prove", "needs_you", status=status, form=form, back=back)
