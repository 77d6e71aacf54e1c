"""How long the reader can take an answer back."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from asks.undo.holding import LONGEST
from workspace.accounts import undo_preference
from workspace.pages.owner_request import OwnerRequest, render_page


class UndoForm(forms.Form):
    """The seconds in which an answer can be taken back."""

    seconds = forms.IntegerField(
        label=gettext_lazy("Seconds to take an answer back"),
        min_value=0,
        max_value=int(LONGEST.total_seconds()),
        help_text=gettext_lazy("From 0 to 30. With 0, an answer takes effect at once."),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit_undo(request: OwnerRequest) -> HttpResponse:
    """GET /undo: show the reader's undo window. POST: save it."""
    window = undo_preference.undo_window_of(request.user)
    form = UndoForm(
        request.POST if request.method == "POST" else None,
        initial={"seconds": int(window.total_seconds())},
    )
    if form.is_valid():
        undo_preference.set_undo_window(request.user, form.cleaned_data["seconds"])
        messages.success(request, _("Saved. It counts from your next answer on."))
        return redirect("undo")
    return render_page(request, "undo", "undo", status=422 if form.is_bound else 200, form=form)
