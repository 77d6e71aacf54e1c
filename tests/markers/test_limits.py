"""Which errors are rate limits, and when they pass."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workspace.protocols.markers.limits import free_again, is_limit

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "error",
    [
        "You've hit your session limit",
        "status 402: your balance exhausted",
        "You've reached your usage limit for this billing cycle",
        "quota reached. Resets in 96h",
        "429 Too Many Requests",
        "rate_limit_error",
        "Weekly limit reached",
    ],
)
@pytest.mark.case("aoa-15")
def test_a_limit(error: str) -> None:
    assert is_limit(error)


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: undefined is not a function",
        "port 4290 is taken",
        "exceeded the context token limit",
        "",
    ],
)
@pytest.mark.case("aoa-15")
def test_no_limit(error: str) -> None:
    assert not is_limit(error)


@pytest.mark.parametrize(
    ("words", "wait"),
    [
        ("quota reached. Resets in 96h", timedelta(hours=96)),
        ("Resets in 96h21m", timedelta(hours=96, minutes=21)),
        ("resets in 4h 20m.", timedelta(hours=4, minutes=20)),
        ("(resets in 20m)", timedelta(minutes=20)),
        ("try again in 30 seconds", timedelta(seconds=30)),
        ("Retry after: 2 hours 5 minutes", timedelta(hours=2, minutes=5)),
        ("reset in 2d3h", timedelta(days=2, hours=3)),
        ("429", timedelta(hours=1)),
        ("resets in 5 parsecs", timedelta(hours=1)),
        ("resets in 99999999999999h", timedelta(days=31)),
    ],
)
@pytest.mark.case("aoa-15")
def test_when_it_passes(words: str, wait: timedelta) -> None:
    assert free_again(words, NOW) == NOW + wait
