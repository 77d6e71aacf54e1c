"""Admin pages of policies: read every version, preview a new one, and add it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from agents.read_only_admin import Audited, linked
from agents.text import json_input
from asks.models import Policy
from asks.policies import dry_run, versions

if TYPE_CHECKING:
    OfPolicy = forms.ModelForm[Policy]
else:
    OfPolicy = forms.ModelForm


class PolicyForm(OfPolicy):
    """The form of a new version: the agent, the rules as JSON, and the reason."""

    rules = forms.JSONField(
        decoder=json_input.JsonDecoder,
        initial={"terms": {}, "rules": []},
        widget=forms.Textarea(attrs={"rows": 24, "cols": 100, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "See docs/policies.md. Each save adds a version. Versions never change."
        ),
    )

    class Meta:
        model = Policy
        fields = ("agent", "rules", "why")

    def clean_rules(self) -> Any:  # noqa: ANN401 -- JSON
        try:
            versions.check_rules(self.cleaned_data["rules"])
        except ValidationError as error:
            raise ValidationError(error.message_dict["rules"]) from error
        return self.cleaned_data["rules"]


@admin.register(Policy)
class PolicyAdmin(Audited):
    """Every version is read-only. Adding one is allowed."""

    form = PolicyForm  # type: ignore[assignment]  # the form of this model
    add_form_template = "admin/asks/policy/add.html"
    list_display = ("__str__", linked("agent"), "version", "why", linked("made_by"), "created_at")
    list_filter = ("agent",)
    list_select_related = ("agent", "made_by")
    search_fields = ("agent__slug", "why")
    date_hierarchy = "created_at"

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        return request.user.has_perm("asks.add_policy")

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> Any:  # noqa: ANN401
        return () if obj is None else super().get_readonly_fields(request, cast("Any", obj))

    def get_fields(self, request: HttpRequest, obj: object = None) -> Any:  # noqa: ANN401
        return (
            PolicyForm.Meta.fields if obj is None else super().get_fields(request, cast("Any", obj))
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:  # noqa: ANN401, ARG002
        """Add the version through ``add_version``, which numbers it and records it in the ledger."""
        policy = versions.add_version(
            agent_id=obj.agent_id,
            rules=form.cleaned_data["rules"],
            why=obj.why,
            by=cast("AbstractBaseUser", request.user),
        )
        obj.pk, obj.version = policy.pk, policy.version

    def get_urls(self) -> list[URLPattern]:
        preview = path(
            "preview/", self.admin_site.admin_view(self.preview), name="asks_policy_preview"
        )
        return [preview, *super().get_urls()]

    def preview(self, request: HttpRequest) -> HttpResponse:
        """Show which past asks the rules in the form would have changed. Store nothing."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = PolicyForm(request.POST or None)
        agent = Agent.objects.filter(pk=_number(request.POST.get("agent"))).first()
        changed = None
        if agent is not None and form.is_bound and "rules" not in form.errors:
            document = versions.check_rules(form.cleaned_data.get("rules"))
            changed = dry_run.dry_run(agent, document)
        context = {
            **self.admin_site.each_context(request),
            "title": _("What this policy would have changed"),
            "agent": agent,
            "errors": form.errors.get("rules", []),
            "changed": changed,
            "rules": json.dumps(form.cleaned_data.get("rules"), indent=2) if form.is_bound else "",
        }
        status = 200 if changed is not None else 422
        return TemplateResponse(request, "admin/asks/policy/preview.html", context, status=status)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else 0
