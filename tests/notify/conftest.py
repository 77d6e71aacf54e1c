"""Fixtures of the notify tests: nothing is delivered unless a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.api import world
from tests.api.world import Cast
from tests.notify.receivers import Receiver, receiver


@pytest.fixture(autouse=True)
def _nobody_is_told(settings: Settings, tmp_path: Path) -> None:
    settings.NEEDS_YOU_EVENT_HOOK = []
    settings.NEEDS_YOU_EVENT_HOOK_KINDS = []
    settings.NEEDS_YOU_EVENT_HOOK_ENV = []
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.STATE_DIR = tmp_path


@pytest.fixture
def cast(db: None) -> Cast:
    return world.cast()


@pytest.fixture
def place() -> Iterator[Receiver]:
    with receiver() as place:
        yield place
