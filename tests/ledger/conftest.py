"""A state folder of its own for each test: the key that signs, and the note of what was signed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker, Settings

from tests.conftest import SERVER


@pytest.fixture(autouse=True)
def state(settings: Settings, tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    settings.STATE_DIR = folder
    return folder


@pytest.fixture
def database(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """A migrated, empty database of this test alone, with real transactions."""
    server = pytestconfig.stash[SERVER]
    before = str(connections["default"].settings_dict["NAME"])
    with django_db_blocker.unblock():
        with server.fresh_database():
            yield
        server.point_at(before)
