"""The cast: an owner, a colleague, a third owner who changes things meanwhile, and a stranger."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from tests.cast import colleague, owner, stranger
from tests.channel.signing import Channel
from tests.factories import AgentFactory, UserFactory, home_of
from tests.leaf.world import leaf_agent
from tests.refusals.routes import ROUTES, Route, signed_through
from tests.refusals.situations import Scene
from tests.responses.world import hybrid_agent

__all__ = ["colleague", "owner", "stranger"]


@pytest.fixture
def route(route_name: str, tmp_path: Path, settings: Settings) -> Route:
    if route_name != "signed":
        return ROUTES[route_name]
    if not shutil.which("ssh-keygen") and not os.environ.get("CI"):
        pytest.skip("needs ssh-keygen")
    channel = Channel(tmp_path)
    settings.SIGNED_CHANNEL = str(channel.folder)
    settings.SIGNED_CHANNEL_ALLOWED_SIGNERS = str(channel.allowed)
    return signed_through(channel)


@pytest.fixture
def scene(route_name: str, owner: User, colleague: User, stranger: User, tmp_path: Path) -> Scene:
    if route_name == "responses":
        agent = hybrid_agent(owner)
    elif route_name == "leaf":
        agent = leaf_agent(owner, volume=str(tmp_path))
    else:
        agent = AgentFactory(slug="ledger", owners=[owner])
    third = UserFactory(username="cleo")
    agent.owners.set([owner, colleague, third])
    return Scene(agent, home_of(agent), owner, colleague, third, stranger)
