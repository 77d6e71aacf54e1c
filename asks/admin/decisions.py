"""Read-only admin pages of asks, verdicts and refusals."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin import InboxItemAdmin
from agents.models import InboxItem
from agents.read_only_admin import AuditedTable, PersonFilter, linked
from asks.actions import binding
from asks.admin import authority, ledger, policies  # noqa: F401  registers pages
from asks.admin.exports import Exported
from asks.admin.filters import OperationFilter, WaitingFilter, with_waiting
from asks.admin.redacted import Redacted
from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Option, Refusal, Verdict


class OptionTable(AuditedTable):
    model = Option
    fields = ("position", "key", "label", "detail", "style", "meaning")


class GateTable(AuditedTable):
    model = Gate
    fields = (
        *("number", "operation", "params", "schema"),
        *("action_hash", "policy_version", "run_version"),
    )


class VerdictTable(AuditedTable):
    model = Verdict
    fields = ("decided_by", "option_label", "text", "meaning", "edit", "via", "decided_at")
    show_change_link = True


def receipt_link(ask: Ask, *, hidden: bool) -> SafeString | str:
    """Return a link to the receipt of a closed ask; a dash for one that is open or hidden."""
    if hidden or ask.status == AskStatus.OPEN:
        return "-"
    return format_html('<a href="{}">{}</a>', reverse("receipt", args=[ask.pk]), _("Receipt"))


@admin.register(Ask)
class AskAdmin(Redacted):
    list_display = (
        "__str__",
        "receipt",
        linked("agent"),
        linked("session"),
        "kind",
        "status",
        "money_critical",
        "opened_at",
        linked("closed_by"),
        "closed_at",
    )
    list_filter = ("status", "kind", "money_critical", ("closed_by", PersonFilter))
    list_select_related = ("agent", "session", "closed_by")
    search_fields = ("prompt", "request_key", "agent__slug", "gate__operation")
    date_hierarchy = "opened_at"
    ordering = ("-id",)
    exclude = ("prompt_html",)
    inlines = (GateTable, OptionTable, VerdictTable)
    readonly_fields = (*Redacted.readonly_fields, "receipt")  # type: ignore[assignment]

    @admin.display(description=gettext_lazy("receipt"))
    def receipt(self, ask: Ask) -> SafeString | str:
        return receipt_link(ask, hidden=getattr(ask, "is_hidden", False))


@admin.register(Verdict)
class VerdictAdmin(Exported, Redacted):
    list_display = (
        "__str__",
        "receipt",
        linked("decided_by"),
        linked("ask"),
        "agent",
        "operation",
        "meaning",
        "via",
        "decided_at",
        "waited",
    )
    list_filter = (
        "meaning",
        WaitingFilter,
        OperationFilter,
        "via",
        ("ask__agent", admin.RelatedOnlyFieldListFilter),
        ("decided_by", PersonFilter),
    )
    list_select_related = ("decided_by", "ask__agent", "ask__gate")
    search_fields = (
        "decided_by__username",
        "option_label",
        "text",
        "ask__prompt",
        "ask__agent__slug",
    )
    date_hierarchy = "decided_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return with_waiting(super().get_queryset(request))

    readonly_fields = (*Redacted.readonly_fields, "receipt")  # type: ignore[assignment]

    @admin.display(description=gettext_lazy("receipt"))
    def receipt(self, verdict: Verdict) -> SafeString | str:
        return receipt_link(verdict.ask, hidden=getattr(verdict, "is_hidden", False))

    @admin.display(description=gettext_lazy("agent"), ordering="ask__agent__slug")
    def agent(self, verdict: Verdict) -> str:
        return str(verdict.ask.agent)

    @admin.display(description=gettext_lazy("operation"), ordering="ask__gate__operation")
    def operation(self, verdict: Verdict) -> str:
        gate = binding.gate_of(verdict.ask)
        return gate.operation if gate else "-"

    @admin.display(description=gettext_lazy("waited"), ordering="waited")
    def waited(self, verdict: Verdict) -> str:
        """Return the time from the ask to the verdict. An imported ask has no known start."""
        if verdict.ask.imported:
            return _("unknown")
        minutes = int((verdict.decided_at - verdict.ask.opened_at).total_seconds()) // 60
        hours, days = minutes // 60, minutes // 1440
        if days:
            return _("%(days)d d %(hours)d h") % {"days": days, "hours": hours % 24}
        if hours:
            return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes % 60}
        return _("%(minutes)d min") % {"minutes": minutes}


@admin.register(Refusal)
class RefusalAdmin(Exported, Redacted):
    list_display = (
        "__str__",
        linked("by"),
        linked("ask"),
        "ask_ref",
        "detail",
        "via",
        "created_at",
    )
    list_filter = ("reason", "via", ("by", PersonFilter))
    list_select_related = ("by", "ask")
    search_fields = ("by__username", "detail", "ask_ref", "ask__prompt")
    date_hierarchy = "created_at"


admin.site.unregister(InboxItem)


@admin.register(InboxItem)
class VerdictsOwedAdmin(Redacted, InboxItemAdmin):
    """The inbox of sessions. It contains verdicts, and some of those are confidential."""
