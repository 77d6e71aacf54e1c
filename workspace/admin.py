"""Read-only admin of keys, webhooks and deliveries. Secrets and hashes are not shown."""

from __future__ import annotations

from django.contrib import admin

from agents.read_only_admin import Audited, linked
from workspace.models import ApiKey, Delivery, OutboxItem, WebhookEndpoint


@admin.register(ApiKey)
class ApiKeyAdmin(Audited):
    exclude = ("hash",)
    list_display = (
        "name",
        "prefix",
        linked("person"),
        linked("agent"),
        "scopes",
        "created_at",
        "last_used_at",
        "revoked_at",
    )
    list_select_related = ("person", "agent")
    search_fields = ("name", "prefix", "person__username", "agent__slug")
    date_hierarchy = "created_at"


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(Audited):
    exclude = ("secret", "former_secret")
    list_display = (
        "__str__",
        "url",
        linked("owner"),
        "kinds",
        "active",
        "failures",
        "paused_until",
        "last_error",
    )
    list_filter = ("active",)
    list_select_related = ("owner",)
    search_fields = ("url", "owner__username")


@admin.register(OutboxItem)
class OutboxItemAdmin(Audited):
    list_display = ("uid", "kind", "subject", "actor", linked("agent"), "created_at", "spread_at")
    list_filter = ("kind",)
    list_select_related = ("agent",)
    search_fields = ("uid", "subject", "agent__slug")
    date_hierarchy = "created_at"


@admin.register(Delivery)
class DeliveryAdmin(Audited):
    list_display = (
        "pk",
        linked("item"),
        linked("endpoint"),
        "state",
        "attempts",
        "next_try",
        "last_error",
        "delivered_at",
    )
    list_filter = ("state",)
    list_select_related = ("item", "endpoint")
    search_fields = ("item__uid", "item__subject")
