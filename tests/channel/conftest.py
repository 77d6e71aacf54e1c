"""The signed channel as people use it: OpenSSH's own programs, keys made for each test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.models import Session
from asks.models import Ask
from tests.channel.signing import Channel
from tests.ledger.world import Draft, agent_of, ask_of, home, person


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without ssh-keygen the tests cannot run; where CI says that it wants them all, they fail."""
    if shutil.which("ssh-keygen") or os.environ.get("CI"):
        return
    missing = pytest.mark.skip(reason="needs ssh-keygen: apt-get install openssh-client")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(missing)


@pytest.fixture(autouse=True)
def _state_of_its_own(settings: Settings, tmp_path: Path) -> None:
    """The ledger's proof reads what was signed in the state folder."""
    settings.STATE_DIR = tmp_path / "own-state"


@pytest.fixture
def owner() -> User:
    return person("mia")


@pytest.fixture
def session(owner: User) -> Session:
    return home(agent_of(owner))


@pytest.fixture
def ask(owner: User, session: Session) -> Ask:
    (ask,) = ask_of(session, owner, Draft(money_critical=True))
    return ask


@pytest.fixture
def channel(tmp_path: Path, settings: Settings) -> Channel:
    """A channel in which mia may sign."""
    channel = Channel(tmp_path)
    channel.allow("mia")
    settings.SIGNED_CHANNEL = str(channel.folder)
    settings.SIGNED_CHANNEL_ALLOWED_SIGNERS = str(channel.allowed)
    return channel
