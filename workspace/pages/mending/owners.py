"""Change who owns an agent: people one by one, or everybody who is in a group."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from agents.mending.editing import StaleEdit
from agents.mending.owners import change_owners
from agents.models import Agent
from asks import access
from workspace.pages.owner_request import OwnerRequest, render_page


class OwnersForm(forms.Form):
    """Who stays, and who joins. ``version`` is that of the agent when the page was shown."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    stay = forms.ModelMultipleChoiceField(
        User.objects.none(),
        required=False,
        label=gettext_lazy("Owners"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Clear a box to remove an owner."),
    )
    people = forms.ModelMultipleChoiceField(
        User.objects.none(),
        required=False,
        label=gettext_lazy("Add people"),
        widget=forms.CheckboxSelectMultiple,
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"),
        required=False,
        label=gettext_lazy("Add everybody in a group"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Those who are in it now. Who joins it later is not added."),
    )
    name = forms.CharField(
        required=False,
        max_length=150,
        label=gettext_lazy("Add by user name"),
        help_text=gettext_lazy("For somebody who is not in the list."),
    )

    def __init__(self, agent: Agent, data: Any = None) -> None:  # noqa: ANN401 -- a form's data
        owners = agent.owners.order_by("username")
        super().__init__(data, initial={"version": agent.version, "stay": list(owners)})
        fields = cast("Any", self.fields)
        fields["stay"].queryset = owners
        active = User.objects.filter(is_active=True).exclude(agents=agent).order_by("username")
        fields["people"].queryset = active
        fields["people"].widget.choices = [(one.pk, one.username) for one in active[:MOST]]
        for name in ("people", "groups"):
            if not list(fields[name].widget.choices):
                del self.fields[name]

    def clean_name(self) -> list[User]:
        name = self.cleaned_data["name"]
        if not name:
            return []
        person = User.objects.filter(is_active=True, username=name).first()
        if person is None:
            raise ValidationError(_("No user is called “{name}”.").format(name=name))
        return [person]


#: How many people are listed; the others are added by name.
MOST = 100


@require_http_methods(["GET", "HEAD", "POST"])
def edit_owners(request: OwnerRequest, slug: str) -> HttpResponse:
    """GET and POST /agents/<slug>/owners: show and change who owns it."""
    found = get_object_or_404(access.agents_steered_by(request.user), slug=slug)
    form = OwnersForm(found, request.POST if request.method == "POST" else None)
    status = 200
    if form.is_bound:
        if form.is_valid() and _changed(request, found, form):
            messages.success(request, _("The owners of {agent} are saved.").format(agent=slug))
            still = access.agents_steered_by(request.user).filter(pk=found.pk).exists()
            return redirect("agent", slug) if still else redirect("agents")
        status = 409 if form.has_error("version") else 422
    return render_page(request, "agent_owners", "agents", status=status, agent=found, form=form)


def _changed(request: OwnerRequest, agent: Agent, form: OwnersForm) -> bool:
    data = form.cleaned_data
    try:
        change_owners(
            agent_id=agent.pk,
            by=request.user,
            add=[*data.get("people", []), *data["name"]],
            groups=data.get("groups", []),
            remove=agent.owners.exclude(pk__in=[one.pk for one in data["stay"]]),
            version=data["version"],
        )
    except StaleEdit:
        form.add_error(
            "version", _("Somebody else changed this agent meanwhile. Look again, then save.")
        )
    except ValidationError as error:
        form.add_error("stay", error.messages)
    return not form.errors
