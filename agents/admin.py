"""Read-only admin pages for agents, sessions, runs, events and inbox items."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agents.models import Agent, Event, InboxItem, Lane, Run, Session
from agents.read_only_admin import Audited, linked


@admin.register(Agent)
class AgentAdmin(Audited):
    list_display = ("slug", "name", "runtime", "lifecycle", "owned_by", "created_at")
    list_filter = ("lifecycle", "runtime", "lane")
    search_fields = ("slug", "name", "title", "owners__username")
    date_hierarchy = "created_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).prefetch_related("owners")

    @admin.display(description="owners")
    def owned_by(self, agent: Agent) -> str:
        return ", ".join(sorted(owner.get_username() for owner in agent.owners.all()))


@admin.register(Lane)
class LaneAdmin(Audited):
    list_display = ("name", "blocked_until", "reason")
    search_fields = ("name", "reason")
    date_hierarchy = "blocked_until"


@admin.register(Session)
class SessionAdmin(Audited):
    list_display = (
        "__str__",
        linked("agent"),
        "status",
        "status_reason",
        "open_asks",
        "run_count",
        "wake_at",
        "created_at",
    )
    list_filter = ("status", "state", "is_home")
    list_select_related = ("agent",)
    search_fields = ("title", "agent__slug", "external_id", "status_reason")
    date_hierarchy = "created_at"


@admin.register(Run)
class RunAdmin(Audited):
    list_display = (
        "__str__",
        linked("session"),
        "agent",
        "status",
        "outcome",
        "cause",
        "worker",
        "queued_at",
        "ended_at",
    )
    list_filter = ("status", "outcome", "cause")
    list_select_related = ("session__agent",)
    search_fields = ("session__agent__slug", "session__title", "worker", "error")
    date_hierarchy = "queued_at"

    @admin.display(ordering="session__agent")
    def agent(self, run: Run) -> str:
        return str(run.session.agent)


@admin.register(Event)
class EventAdmin(Audited):
    list_display = ("__str__", linked("session"), linked("run"), "actor", "words", "created_at")
    list_filter = ("kind",)
    list_select_related = ("session", "run")
    search_fields = ("actor", "text", "session__agent__slug")
    date_hierarchy = "created_at"
    ordering = ("-id",)
    exclude = ("html",)

    @admin.display(description="text")
    def words(self, event: Event) -> str:
        return event.text[:120]


@admin.register(InboxItem)
class InboxItemAdmin(Audited):
    list_display = (
        "__str__",
        linked("session"),
        "state",
        "attempts",
        linked("leased_by"),
        "created_at",
    )
    list_filter = ("kind", "state")
    list_select_related = ("session", "leased_by")
    search_fields = ("author", "body", "session__agent__slug")
    date_hierarchy = "created_at"
