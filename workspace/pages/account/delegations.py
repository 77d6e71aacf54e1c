"""Delegations given and received: list, create and revoke them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from agents.models import Agent
from asks import access, delegation
from workspace.pages.account.hours import ZONE
from workspace.pages.owner_request import OwnerRequest, render_page


class DelegationForm(forms.Form):
    """A delegate, an agent, a period and a reason. Days begin and end at midnight of the zone."""

    to = forms.CharField(label=gettext_lazy("Who answers for you"), max_length=150)
    agent = forms.ModelChoiceField(
        Agent.objects.none(),
        required=False,
        label=gettext_lazy("For"),
        empty_label=gettext_lazy("All that you may answer"),
    )
    starts_on = forms.DateField(
        required=False, label=gettext_lazy("From"), widget=forms.DateInput(attrs={"type": "date"})
    )
    ends_on = forms.DateField(
        label=gettext_lazy("Until the end of"), widget=forms.DateInput(attrs={"type": "date"})
    )
    zone = forms.CharField(label=gettext_lazy("Time zone"), max_length=64)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=1000)

    def __init__(self, request: OwnerRequest, data: Any = None) -> None:  # noqa: ANN401 -- a form's data
        super().__init__(data, initial={"zone": request.session.get(ZONE, "UTC")})
        cast("Any", self.fields["agent"]).queryset = access.agents_of(request.user)

    def clean_to(self) -> User:
        name = self.cleaned_data["to"]
        people = User.objects.filter(is_active=True)
        person = people.filter(username=name).first()
        if person is None:
            near = people.filter(username__iexact=name).order_by("username").first()
            reason = _("No user is called “{name}”.").format(name=name)
            if near is not None:
                reason += " " + _("Did you mean {name}?").format(name=near.username)
            raise ValidationError(reason)
        return person

    def clean_zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.cleaned_data["zone"])
        except (ValueError, OSError, LookupError) as error:
            raise ValidationError(
                _("There is no such time zone. Write one like Europe/Berlin.")
            ) from error

    def moment(self, field: str, *, end: bool = False) -> datetime | None:
        """Return the UTC moment at which the day of a field begins or ends."""
        day = self.cleaned_data.get(field)
        if day is None:
            return None
        at = datetime.max.time() if end else datetime.min.time()
        return datetime.combine(day, at, tzinfo=self.cleaned_data["zone"]).astimezone(UTC)


@require_http_methods(["GET", "HEAD", "POST"])
def show_delegations(request: OwnerRequest) -> HttpResponse:
    """GET /delegations/: list both directions. POST: create a delegation."""
    form = DelegationForm(request, request.POST if request.method == "POST" else None)
    if form.is_valid() and _delegated(request, form):
        messages.success(request, _("It is delegated."))
        return redirect("delegations")
    return render_page(
        request,
        "delegations",
        "needs_you",
        status=422 if form.is_bound else 200,
        form=form,
        mine=list(delegation.delegations_given_by(request.user)),
        to_me=list(delegation.delegations_received_by(request.user)),
    )


def _delegated(request: OwnerRequest, form: DelegationForm) -> bool:
    """Create the delegation. Return False and fill in the form's errors if it is invalid."""
    ends_at = form.moment("ends_on", end=True)
    try:
        delegation.create_delegation(
            by=request.user,
            to=form.cleaned_data["to"],
            agent=form.cleaned_data["agent"],
            starts_at=form.moment("starts_on"),
            ends_at=ends_at or datetime.min.replace(tzinfo=UTC),
            reason=form.cleaned_data["reason"],
        )
    except ValidationError as error:
        for field, why in error.message_dict.items():
            form.add_error({"ends_at": "ends_on"}.get(field, field), why)
        return False
    return True


@require_http_methods(["POST"])
def post_revocation(request: OwnerRequest, delegation_id: int) -> HttpResponse:
    """POST /delegations/<id>/revoke: revoke it at once; either person may."""
    if not delegation.revoke_delegation(delegation_id=delegation_id, by=request.user):
        raise Http404
    messages.success(request, _("The delegation has ended."))
    return redirect("delegations")
