"""A scripted server, and an agent that is driven over it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from tests.cast import owner
from tests.responses.remote.acts import PAUSED
from tests.responses.remotes import (
    Remote,
    remote_agent,
    serving,
    tells,
)

__all__ = ["owner"]


@pytest.fixture
def remote() -> Iterator[Remote]:
    with serving(Remote(tells(PAUSED))) as found:
        yield found


@pytest.fixture
def agent(owner: User, remote: Remote) -> Agent:
    return remote_agent(owner, remote.url)
