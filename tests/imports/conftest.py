"""A state folder of its own for each test: the ledger's proof reads what was signed there."""

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _state_of_its_own(settings: Settings, tmp_path: Path) -> None:
    settings.STATE_DIR = tmp_path / "state"
