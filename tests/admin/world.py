"""Rows of everything that the admin shows, as many as wanted."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import Lane
from asks import answering
from asks.models import Ask
from tests.pages import world as asking

PAGES = (
    "agents/agent",
    "agents/session",
    "agents/run",
    "agents/event",
    "agents/inboxitem",
    "agents/lane",
    "asks/ask",
    "asks/verdict",
    "asks/refusal",
)


def person(name: str, *, staff: bool = False, root: bool = False) -> User:
    return User.objects.create(username=name, is_staff=staff or root, is_superuser=root)


def fill(count: int, *, first: int = 0) -> None:
    """That many agents with everything that can happen to one: asked, refused, answered, owed."""
    for number in range(first, first + count):
        owner = person(f"owner-{number}")
        agent = asking.agent_of(owner, person(f"second-{number}"), slug=f"agent-{number}")
        ask = asking.asked(agent, asking.approval())
        refuse_and_answer(ask, owner)
        Lane.objects.create(name=f"lane-{number}", blocked_until=timezone.now())


def refuse_and_answer(ask: Ask, owner: User) -> None:
    answering.answer_ask(ask_id=ask.pk, by=owner, option="nonsense", echo=asking.echo_of(ask))
    answering.answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=asking.echo_of(ask))
