"""An owner, their leaf agent, and an orchestrator that acts as the owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from tests.cast import colleague, owner, stranger
from tests.leaf.world import Orchestrator, key_for, leaf_agent

__all__ = ["colleague", "owner", "stranger"]


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    folder = tmp_path / "volume"
    folder.mkdir()
    return folder


@pytest.fixture
def agent(owner: User, volume: Path) -> Agent:
    return leaf_agent(owner, volume=str(volume))


@pytest.fixture
def orchestrator(owner: User, agent: Agent) -> Orchestrator:
    return Orchestrator(key_for(agent, owner))
