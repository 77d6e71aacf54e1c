"""The reader's own time zone and working hours: clocks are shown in it, deadlines count them."""

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
from django.views.decorators.http import require_http_methods

from asks.policies import personal_hours
from asks.policies.working_hours import DAYS, WORKING_DAYS, WorkingHours
from workspace.pages.owner_request import OwnerRequest, show

#: Where a login remembers its person's zone, so that no page has to ask the database.
ZONE = "zone"
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class HoursForm(forms.Form):
    """The zone, the days, and from when until when. What is wrong is said by the verb."""

    zone = forms.CharField(
        label="Time zone",
        max_length=64,
        help_text="As in Europe/Berlin.",
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off"}),
    )
    days = forms.MultipleChoiceField(
        label="Days",
        choices=list(zip(DAYS, _NAMES, strict=True)),
        initial=WORKING_DAYS,
        widget=forms.CheckboxSelectMultiple,
    )
    opens = forms.TimeField(
        label="From", widget=forms.TimeInput(attrs={"type": "time"}), initial="09:00"
    )
    closes = forms.TimeField(
        label="Until", widget=forms.TimeInput(attrs={"type": "time"}), initial="17:00"
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit_hours(request: OwnerRequest) -> HttpResponse:
    """GET /hours: what is kept. POST: keeps it; with `forget`, nothing any more."""
    if request.method == "POST" and "forget" in request.POST:
        personal_hours.clear_hours(request.user)
        request.session.pop(ZONE, None)
        messages.success(request, "You have no hours: all time counts.")
        return redirect("hours")
    kept = personal_hours.hours_of(request.user)
    form = HoursForm(
        request.POST if request.method == "POST" else None, initial=_initial(kept) if kept else {}
    )
    if form.is_valid() and _kept(request, form):
        messages.success(request, "Your hours are kept.")
        return redirect("hours")
    status = 422 if form.is_bound else 200
    zones = sorted(available_timezones())
    return show(
        request, "hours", "hours", status=status, form=form, kept=kept is not None, zones=zones
    )


def _kept(request: OwnerRequest, form: HoursForm) -> bool:
    """Keeps what the form says; or tells the form why not."""
    try:
        said = personal_hours.set_hours(request.user, form.cleaned_data)
    except ValidationError as error:
        for field, why in error.message_dict.items():
            form.add_error(field if field in form.fields else None, why)
        return False
    request.session[ZONE] = said.zone
    return True


def _initial(kept: WorkingHours) -> dict[str, Any]:
    return {
        "zone": kept.zone,
        "days": kept.days,
        "opens": f"{kept.opens:%H:%M}",
        "closes": f"{kept.closes:%H:%M}",
    }


@receiver(user_logged_in, dispatch_uid="pages.zone")
def _remember_zone(*, request: HttpRequest, user: User, **_: object) -> None:
    kept = personal_hours.hours_of(user)
    if kept is not None:
        request.session[ZONE] = kept.zone
