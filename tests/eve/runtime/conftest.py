"""An owner, and effects that begin with each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cast import colleague, owner, stranger
from tests.eve.runtime.agents import EFFECTS

__all__ = ["colleague", "owner", "stranger"]


@pytest.fixture(autouse=True)
def effects() -> Iterator[list[tuple[str, object]]]:
    """What tools did, in the order in which they did it."""
    EFFECTS.clear()
    yield EFFECTS
    EFFECTS.clear()
