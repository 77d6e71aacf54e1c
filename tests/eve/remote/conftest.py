"""An eve server of each era, an agent that is driven there, and its owner."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cast import owner
from tests.eve.remote.double import Double, Era, serving

__all__ = ["double", "owner"]


@pytest.fixture(params=["seed", "current"])
def double(request: pytest.FixtureRequest) -> Iterator[Double]:
    era: Era = request.param
    with serving(era) as found:
        yield found
