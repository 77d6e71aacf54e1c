"""The reader's time zone, used by the clocks, and working hours, used by deadlines."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from asks.policies import personal_hours
from asks.policies.working_hours import DAYS, WORKING_DAYS, WorkingHours
from workspace.pages.owner_request import OwnerRequest, render_page

#: Session key of the person's zone, so that no page queries the database for it.
ZONE = "zone"
_NAMES = [WEEKDAYS[day] for day in range(7)]


class HoursForm(forms.Form):
    """The zone, the days, and from when until when. `set_hours` validates them."""

    zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        help_text=gettext_lazy("As in Europe/Berlin."),
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off"}),
    )
    days = forms.MultipleChoiceField(
        label=gettext_lazy("Days"),
        choices=list(zip(DAYS, _NAMES, strict=True)),
        initial=WORKING_DAYS,
        widget=forms.CheckboxSelectMultiple,
    )
    opens = forms.TimeField(
        label=gettext_lazy("From"), widget=forms.TimeInput(attrs={"type": "time"}), initial="09:00"
    )
    closes = forms.TimeField(
        label=gettext_lazy("Until"), widget=forms.TimeInput(attrs={"type": "time"}), initial="17:00"
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit_hours(request: OwnerRequest) -> HttpResponse:
    """GET /hours: show the saved hours. POST: save them, or clear them with `forget`."""
    if request.method == "POST" and "forget" in request.POST:
        personal_hours.clear_hours(request.user)
        request.session.pop(ZONE, None)
        messages.success(request, _("You have no hours: deadlines run around the clock."))
        return redirect("hours")
    kept = personal_hours.hours_of(request.user)
    form = HoursForm(
        request.POST if request.method == "POST" else None, initial=_initial(kept) if kept else {}
    )
    if form.is_valid() and _save_hours(request, form):
        messages.success(request, _("Your hours are saved."))
        return redirect("hours")
    status = 422 if form.is_bound else 200
    zones = sorted(available_timezones())
    return render_page(
        request, "hours", "hours", status=status, form=form, kept=kept is not None, zones=zones
    )


def _save_hours(request: OwnerRequest, form: HoursForm) -> bool:
    """Save the hours. Return False and fill in the form's errors if they are invalid."""
    try:
        saved = personal_hours.set_hours(request.user, form.cleaned_data)
    except ValidationError as error:
        for field, why in error.message_dict.items():
            form.add_error(field if field in form.fields else None, why)
        return False
    request.session[ZONE] = saved.zone
    return True


def _initial(kept: WorkingHours) -> dict[str, Any]:
    return {
        "zone": kept.zone,
        "days": kept.days,
        "opens": f"{kept.opens:%H:%M}",
        "closes": f"{kept.closes:%H:%M}",
    }


@receiver(user_logged_in, dispatch_uid="pages.zone")
def _remember_zone(*, request: HttpRequest, user: User, **__: object) -> None:
    kept = personal_hours.hours_of(user)
    if kept is not None:
        request.session[ZONE] = kept.zone
