"""Read-only admin pages of votes, delegations, grants, nudges and dismissed asks."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from agents.read_only_admin import Audited, PersonFilter, linked
from asks.admin.redacted import Redacted
from asks.models import Delegation, Dropped, Effect, Grant, Nudge, Redemption, Retraction, Vote


@admin.register(Vote)
class VoteAdmin(Redacted):
    list_display = (
        "__str__",
        linked("ask"),
        linked("voter"),
        linked("principal", _("on behalf of")),
        "meaning",
        "via",
        "cast_at",
    )
    list_filter = ("meaning", ("voter", PersonFilter))
    list_select_related = ("ask", "voter", "principal")
    search_fields = ("voter__username", "option_label", "text", "ask__prompt")
    date_hierarchy = "cast_at"


@admin.register(Retraction)
class RetractionAdmin(Redacted):
    list_display = ("__str__", linked("verdict"), linked("by"), "via", "at")
    list_filter = (("by", PersonFilter),)
    list_select_related = ("verdict__ask", "by")
    search_fields = ("by__username", "verdict__ask__prompt")
    date_hierarchy = "at"


@admin.register(Delegation)
class DelegationAdmin(Audited):
    list_display = (
        "__str__",
        linked("delegator"),
        linked("delegate"),
        linked("agent"),
        "starts_at",
        "ends_at",
        "reason",
        "revoked_at",
    )
    list_filter = (("delegator", PersonFilter),)
    list_select_related = ("delegator", "delegate", "agent")
    search_fields = ("delegator__username", "delegate__username", "reason")
    date_hierarchy = "starts_at"


@admin.register(Grant)
class GrantAdmin(Redacted):
    list_display = (
        "__str__",
        linked("session"),
        linked("ask"),
        "policy_version",
        "made_at",
        "taken_at",
        "ended",
    )
    list_filter = (("ask", admin.EmptyFieldListFilter),)
    list_select_related = ("session", "ask", "redemption__effect")
    search_fields = ("operation", "action_hash", "session__agent__slug")
    date_hierarchy = "made_at"

    @admin.display(description=_("used at"))
    def taken_at(self, grant: Grant) -> object:
        redemption: Redemption | None = getattr(grant, "redemption", None)
        return redemption.redeemed_at if redemption else "-"

    @admin.display(description=_("outcome"))
    def ended(self, grant: Grant) -> str:
        effect: Effect | None = getattr(getattr(grant, "redemption", None), "effect", None)
        return effect.get_end_display() if effect else "-"


@admin.register(Nudge)
class NudgeAdmin(Audited):
    list_display = ("__str__", linked("ask"), "kind", "due_at", "to", "said_at")
    list_filter = ("kind",)
    list_select_related = ("ask",)
    date_hierarchy = "due_at"


@admin.register(Dropped)
class DroppedAdmin(Redacted):
    list_display = ("__str__", linked("ask"), linked("by"), "at")
    list_select_related = ("ask", "by")
    date_hierarchy = "at"
