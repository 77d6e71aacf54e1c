"""Find open asks that nobody may answer: everybody who could is deactivated, gone, barred or has voted.

Such an ask is on nobody's page. It is an alarm for the people who may change owners.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from agents.db.expressions import IsAny
from agents.lifecycle import AgentState
from agents.models import Agent
from asks.lifecycle import AskStatus
from asks.models import Ask, Vote


def unanswerable_asks() -> QuerySet[Ask]:
    """Return the open asks without a person who may answer them now, longest wait first.

    Delegates do not count: they answer in the name of somebody active, who would count.
    """
    owner = _able(Agent.owners.through.objects.filter(agent=OuterRef("agent")))
    member = User.groups.through.objects
    first = _able(member.filter(group=OuterRef("answered_by")))
    second = _able(member.filter(group=OuterRef("escalated_to")))
    waiting = Ask.objects.filter(status=AskStatus.OPEN).exclude(Q(answered_by=None) & owner)
    return waiting.exclude(first | second).order_by("opened_at", "pk")


def _able(people: QuerySet[Any]) -> Q:
    """Match asks for which one of these people is active, is not barred, and has not voted."""
    voted = Vote.objects.filter(ask=OuterRef(OuterRef("pk")), voter=OuterRef("user"))
    free = people.filter(user__is_active=True).exclude(IsAny(F("user_id"), OuterRef("barred")))
    return Q(Exists(free.exclude(Exists(voted))))


def agents_without_owner() -> QuerySet[Agent]:
    """Return the agents, retired ones apart, of which no active person is an owner."""
    active = User.objects.filter(is_active=True, agents=OuterRef("pk"))
    living = Agent.objects.exclude(lifecycle=AgentState.RETIRED)
    return living.exclude(Exists(active)).order_by("slug")
