"""Find the recipients of an item: owners of the agent, and members of a group that answers."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from agents.models import Agent
from asks.models import Ask
from workspace.models import Delivery, OutboxItem, WebhookEndpoint

Pairs = set[tuple[int, int]]


def ask_of(item: OutboxItem) -> int | None:
    """Return the id of the ask that an item is about, or None."""
    kind, _, number = item.subject.partition(":")
    return int(number) if kind == "ask" else None


def endpoints_of(items: Iterable[OutboxItem]) -> dict[OutboxItem, list[WebhookEndpoint]]:
    """Return the active endpoints of the people whom each item concerns, in at most five queries."""
    items = list(items)
    if not WebhookEndpoint.objects.filter(active=True).exists():
        return {item: [] for item in items}
    abouts = {item: ask_of(item) for item in items}
    owners = _owners({item.agent_id for item in items})
    members = _members({about for about in abouts.values() if about is not None})
    concerned = {
        item: {
            *(person for agent_id, person in owners if agent_id == item.agent_id),
            *(person for ask_id, person in members if ask_id == abouts[item]),
        }
        for item in items
    }
    everybody = {person for people in concerned.values() for person in people}
    active = WebhookEndpoint.objects.filter(active=True, owner__in=everybody).order_by("pk")
    endpoints = list(active)
    return {
        item: [one for one in endpoints if one.owner_id in people]
        for item, people in concerned.items()
    }


def _owners(agent_ids: Iterable[int]) -> Pairs:
    """Return (agent, person) of the active owners."""
    owners = Agent.owners.through.objects.filter(agent_id__in=agent_ids, user__is_active=True)
    return set(owners.values_list("agent_id", "user_id"))


def _members(ask_ids: Iterable[int]) -> Pairs:
    """Return (ask, person) of the members of its group and of the group it is escalated to."""
    asks = Ask.objects.filter(pk__in=ask_ids)
    members: Pairs = set()
    for group in ("answered_by", "escalated_to"):
        active = asks.filter(**{f"{group}__user__is_active": True})
        members |= set(active.values_list("pk", f"{group}__user"))
    return members


def still_concerned(delivery_id: int) -> bool:
    """Return whether the item still concerns the owner of the endpoint."""
    delivery = Delivery.objects.select_related("item", "endpoint").filter(pk=delivery_id).first()
    if delivery is None or delivery.endpoint is None:
        return False
    person = User.objects.filter(pk=delivery.endpoint.owner_id, is_active=True)
    owned = Agent.owners.through.objects.filter(agent=delivery.item.agent_id, user=OuterRef("pk"))
    if person.filter(Exists(owned)).exists():
        return True
    ask_id = ask_of(delivery.item)
    return ask_id is not None and (ask_id, delivery.endpoint.owner_id) in _members([ask_id])
