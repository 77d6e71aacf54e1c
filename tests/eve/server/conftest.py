"""An owner, their scripted agent, and a client with a key of the owner's."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from tests.cast import colleague, owner, stranger
from tests.eve.server.world import Caller, key_for, scripted_agent

__all__ = ["colleague", "owner", "stranger"]


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return scripted_agent(owner, colleague)


@pytest.fixture
def caller(owner: User, agent: Agent) -> Caller:
    return Caller(key_for(agent, owner))
