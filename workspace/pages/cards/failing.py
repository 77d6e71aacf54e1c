"""The card of an agent that fails: why, and what its owner can do about it."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from agents.models import Agent
from asks.queue import queries
from asks.queue.places import PAGE_SIZE
from workspace.text.markdown import assembled


def first_failing(person: AbstractBaseUser) -> list[Agent]:
    """Return the first page of a person's failing agents, longest first."""
    return list(queries.failing_agents(person)[:PAGE_SIZE])


def card_name(agent: Agent) -> str:
    """Return the id of an agent's card."""
    return f"agent-{agent.pk}"


def failing_card(agent: Agent, *, csrf: str) -> SafeString:
    """Render the card of an agent of `queries.failing_agents`."""
    return assembled(render_to_string("cards/failing.html", {"agent": agent, "csrf": csrf}))


def mended_card(agent: Agent) -> SafeString:
    """Render what remains of the card once the agent does not fail any more, or is paused."""
    return assembled(render_to_string("cards/mended.html", {"agent": agent}))
