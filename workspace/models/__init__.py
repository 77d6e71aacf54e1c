"""What the workspace itself remembers: sign-in links, API keys, what is to be told outside.

Each protocol's own models stand with the protocol; they are imported here so that Django finds them.
"""

from workspace.models.entry import EntryLink
from workspace.models.keys import ApiKey, Scope
from workspace.models.outbox import Delivery, DeliveryState, OutboxItem, OutboxKind
from workspace.models.webhooks import WebhookEndpoint
from workspace.protocols.eve import models as eve  # noqa: F401
from workspace.protocols.responses import models as responses  # noqa: F401

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
