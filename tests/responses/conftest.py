"""An owner, their hybrid agent with the scripted brain, and a caller with a key of the owner's."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from tests.cast import colleague, owner, stranger
from tests.responses.world import Caller, hybrid_agent, key_for

__all__ = ["colleague", "owner", "stranger"]


@pytest.fixture
def agent(owner: User) -> Agent:
    return hybrid_agent(owner)


@pytest.fixture
def caller(owner: User, agent: Agent) -> Caller:
    return Caller(key_for(agent, owner))
