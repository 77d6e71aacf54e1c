"""The models of the workspace: sign-in links, API keys, outbox, webhooks and
preferences.

The models of a protocol are in the protocol's package. They are imported here so that Django finds
them.
"""

from workspace.models.entry import EntryLink
from workspace.models.keys import ApiKey, Scope
from workspace.models.outbox import Delivery, DeliveryState, OutboxItem, OutboxKind
from workspace.models.preferences import UndoPreference
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
    "UndoPreference",
    "WebhookEndpoint",
]
