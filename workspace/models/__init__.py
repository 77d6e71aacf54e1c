"""What the workspace itself remembers: sign-in links, API keys, what is to be told outside."""

from workspace.models.entry import EntryLink
from workspace.models.keys import ApiKey, Scope
from workspace.models.outbox import Delivery, DeliveryState, OutboxItem, OutboxKind
from workspace.models.webhooks import WebhookEndpoint

__all__ = [
    "ApiKey",
    "Delivery",
    "DeliveryState",
    "EntryLink",
    "OutboxItem",
    "OutboxKind",
    "Scope",
    "WebhookEndpoint",
]
