"""The standing cast of tests: an owner, a colleague who owns the same agent, a stranger who owns none."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, Session
from tests.factories import AgentFactory, UserFactory, home_of


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory(username="olga")


@pytest.fixture
def colleague(db: None) -> User:
    return UserFactory(username="carl")


@pytest.fixture
def stranger(db: None) -> User:
    return UserFactory(username="sam")


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    """An active agent of both owners that starts when told."""
    return AgentFactory(slug="ledger", owners=[owner, colleague])


@pytest.fixture
def session(agent: Agent) -> Session:
    """The agent's home session."""
    return home_of(agent)
