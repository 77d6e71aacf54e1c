"""Spell actors as events, inbox items and the ledger store them: ``human:olivia``, ``agent:bob``.

``system`` is the workspace itself. A policy that decides alone is spelled ``policy:v3``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AbstractBaseUser

if TYPE_CHECKING:
    from agents.models import Agent

SYSTEM = "system"
_HUMAN, _AGENT = "human:", "agent:"


def human(person: AbstractBaseUser) -> str:
    """Spell a person as an actor."""
    return f"{_HUMAN}{person.get_username()}"


def agent(agent: Agent) -> str:
    """Spell an agent as an actor."""
    return agent_named(agent.slug)


def agent_named(slug: str) -> str:
    """Spell the agent with this slug as an actor."""
    return f"{_AGENT}{slug}"


def policy(version: int) -> str:
    """Spell a version of an agent's policy as an actor."""
    return f"policy:v{version}"


def is_human(actor: str) -> bool:
    """Whether an actor is a person."""
    return actor.startswith(_HUMAN)


def name_of(actor: str) -> str:
    """Return the user name or slug of an actor; return any other actor unchanged."""
    return actor.removeprefix(_HUMAN).removeprefix(_AGENT)
