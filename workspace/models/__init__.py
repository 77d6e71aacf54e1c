"""What the workspace itself remembers: sign-in links, API keys, what is to be told outside, responses."""

from workspace.models.entry import EntryLink
from workspace.models.eve import EveResult, EveTurn
from workspace.models.eve_sessions import EveSession
from workspace.models.keys import ApiKey, Scope
from workspace.models.outbox import Delivery, DeliveryState, OutboxItem, OutboxKind
from workspace.models.responses import Response, ResponseEvent, ResponseInput, ResponseStatus
from workspace.models.webhooks import WebhookEndpoint

__all__ = [
    "ApiKey",
    "Delivery",
    "DeliveryState",
    "EntryLink",
    "EveResult",
    "EveSession",
    "EveTurn",
    "OutboxItem",
    "OutboxKind",
    "Response",
    "ResponseEvent",
    "ResponseInput",
    "ResponseStatus",
    "Scope",
    "WebhookEndpoint",
]
