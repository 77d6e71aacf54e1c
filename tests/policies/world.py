"""Policies in force, and asks raised under them, by the product's own verbs."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User

from agents.lifecycle import Outcome
from agents.models import Agent, Run, Session
from asks.drafts import ActionDraft
from asks.models import Ask, Policy
from asks.policies import versions
from tests.factories import REFUND, claim, draft, finish, owner_of, turn_of

Rules = dict[str, Any]


def in_force(agent: Agent, *rules: Rules, by: User | None = None, **terms: Any) -> Policy:
    """Put a policy in force: rules, and the terms of all that is asked."""
    whole = {"rules": list(rules), "terms": terms}
    person = by or agent.owners.order_by("pk").first()
    assert person is not None
    return versions.add_version(agent_id=agent.pk, rules=whole, why="For a test.", by=person)


def refund(**rule: Any) -> Rules:
    """A rule about refunds."""
    return {"operation": "refund", **rule}


def propose(session: Session, action: ActionDraft = REFUND, **more: Any) -> Ask | None:
    """Have a session's next run propose an action; the ask that it raised, if any."""
    run = turn_of(session, Outcome.BLOCKED, asks=(draft(action=action, **more),))
    return Ask.objects.filter(run=run).select_related("session__agent", "gate").last()


def asked(session: Session, action: ActionDraft = REFUND, **more: Any) -> Ask:
    """The same where a person is asked."""
    found = propose(session, action, **more)
    assert found is not None
    return found


def next_run(session: Session) -> Run:
    return session.runs.latest("number")


def go_on_and_propose(session: Session, action: ActionDraft = REFUND, key: str = "") -> Run:
    """The queued run of a session proposes an action."""
    turn = claim(next_run(session))
    return finish(turn, Outcome.BLOCKED, asks=(draft(key, action=action),))


def group_of(name: str, *people: User) -> Group:
    group = Group.objects.create(name=name)
    group.user_set.set(people)
    return group


__all__ = [
    "asked",
    "go_on_and_propose",
    "group_of",
    "in_force",
    "next_run",
    "owner_of",
    "propose",
    "refund",
]
