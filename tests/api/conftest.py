"""The cast, and a way to call the API as each of them."""

from __future__ import annotations

import pytest

from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast


@pytest.fixture
def cast(db: None) -> Cast:
    return world.cast()


@pytest.fixture
def as_owner(cast: Cast) -> Caller:
    return Caller(world.key_of(cast.owner))


@pytest.fixture
def as_colleague(cast: Cast) -> Caller:
    return Caller(world.key_of(cast.colleague))


@pytest.fixture
def as_stranger(cast: Cast) -> Caller:
    return Caller(world.key_of(cast.stranger))


@pytest.fixture
def as_agent(cast: Cast) -> Caller:
    """With a key of the agent itself, which holds all that such a key may hold."""
    return Caller(world.key_of(agent=cast.agent, scopes=("run:create", "run:read", "ask:create")))
