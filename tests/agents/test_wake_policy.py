"""Wake policies: which are valid, and when they start a session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents import wakes
from agents.wake_policy import Continuous, Manual, OnMessage, Schedule, parse_wake_policy


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def starts(policy: Schedule, after: str, count: int) -> list[str]:
    """Return the next starts, in UTC."""
    moment, found = at(after), []
    for _ in range(count):
        moment = policy.next_after(moment)
        found.append(moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M"))
    return found


GOOD: list[tuple[dict[str, Any], Any]] = [
    ({}, Manual()),
    ({"kind": "manual"}, Manual()),
    ({"kind": "on_message"}, OnMessage()),
    ({"kind": "continuous"}, Continuous()),
    ({"kind": "schedule", "every_seconds": 5}, Schedule(every_seconds=5)),
    (
        {"kind": "schedule", "cron": "0 9 * * 1-5", "time_zone": "Europe/Berlin"},
        Schedule(cron="0 9 * * 1-5", time_zone="Europe/Berlin"),
    ),
]


@pytest.mark.parametrize(("stored", "policy"), GOOD, ids=range(len(GOOD)))
def test_what_may_be_said(stored: dict[str, Any], policy: Any) -> None:
    assert parse_wake_policy(stored) == policy


BAD: list[Any] = [
    {"kind": "sometimes"},
    {"kind": "manual", "every_seconds": 5},
    {"kind": "continuous", "every_seconds": 0},
    {"kind": "continuous", "idle_factor": 0.5},
    {"kind": "continuous", "idle_factor": float("nan")},
    {"kind": "continuous", "idle_max_seconds": 10**9},
    {"kind": "schedule"},
    {"kind": "schedule", "every_seconds": 5, "cron": "0 9 * * *"},
    {"kind": "schedule", "every_seconds": -1},
    {"kind": "schedule", "cron": ""},
    {"kind": "schedule", "cron": "at nine"},
    {"kind": "schedule", "cron": "0 0 31 2 *"},
    {"kind": "schedule", "cron": "* * * * * *"},
    {"kind": "schedule", "cron": "*/0 * * * *"},
    {"kind": "schedule", "cron": "61 * * * *"},
    {"kind": "schedule", "cron": "0 9 * * 1-5" * 100},
    {"kind": "schedule", "cron": "0 9 * * *", "time_zone": "Mars/Olympus"},
    {"kind": "schedule", "cron": "0 9 * * *", "time_zone": "../../etc/passwd"},
    {"kind": "schedule", "cron": "0 9 * * *", "time_zone": "\0"},
    {"kind": "schedule", "cron": "0 9 * * *", "time_zone": "x" * 5000},
    {"kind": "schedule", "cron": "0 9 * * *", "time_zone": ""},
    {"kind": "on_expire", "do": "approve"},
    [1],
    "continuous",
    5,
]


@pytest.mark.parametrize("stored", BAD, ids=range(len(BAD)))
def test_what_may_not_be_said(stored: Any) -> None:
    with pytest.raises(ValidationError):
        parse_wake_policy(stored)


def test_every_so_many_seconds() -> None:
    assert starts(Schedule(every_seconds=90), "2026-05-04 09:00", 2) == [
        "2026-05-04 09:01",
        "2026-05-04 09:03",
    ]


@pytest.mark.case("aoa-9")
def test_a_start_is_after_now_however_many_were_missed() -> None:
    policy = Schedule(cron="0 * * * *")
    assert starts(policy, "2026-05-04 23:59", 1) == ["2026-05-05 00:00"]
    assert starts(policy, "2026-05-05 00:00", 1) == ["2026-05-05 01:00"]


def test_cron_is_read_in_its_own_time_zone_on_both_sides_of_the_change() -> None:
    policy = Schedule(cron="0 9 * * *", time_zone="Europe/Berlin")
    assert starts(policy, "2026-03-27 12:00", 3) == [
        "2026-03-28 08:00",
        "2026-03-29 07:00",
        "2026-03-30 07:00",
    ]


def test_an_hour_that_does_not_exist_is_made_up_for() -> None:
    policy = Schedule(cron="30 2 * * *", time_zone="Europe/Berlin")
    assert starts(policy, "2026-03-28 12:00", 2) == ["2026-03-29 01:00", "2026-03-30 00:30"]


def test_an_hour_that_comes_twice_counts_once() -> None:
    policy = Schedule(cron="30 2 * * *", time_zone="Europe/Berlin")
    assert starts(policy, "2026-10-24 12:00", 2) == ["2026-10-25 00:30", "2026-10-26 01:30"]


def test_every_twenty_minutes_is_every_twenty_minutes_in_it() -> None:
    policy = Schedule(cron="*/20 * * * *", time_zone="Europe/Berlin")
    assert starts(policy, "2026-10-25 00:30", 4) == [
        "2026-10-25 00:40",
        "2026-10-25 01:00",
        "2026-10-25 01:20",
        "2026-10-25 01:40",
    ]


@given(
    st.sampled_from(["*/7 * * * *", "0 2 * * *", "30 1-3 * * 0", "0 0 29 2 *", "0 12 1 * mon"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]),
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_the_next_start_always_lies_ahead(cron: str, zone: str, moment: datetime) -> None:
    assert Schedule(cron=cron, time_zone=zone).next_after(moment) > moment


@pytest.mark.case("aoa-1")
def test_idle_back_off_doubles() -> None:
    policy = Continuous()
    delays = [wakes.idle_delay(policy, n, jitter=0).total_seconds() for n in range(1, 9)]
    assert delays == [60, 120, 240, 480, 960, 1920, 3600, 3600]


@pytest.mark.case("aoa-2")
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_idle_back_off_is_capped_and_stretched_by_a_tenth_at_most(
    streak: int, jitter: float
) -> None:
    policy = Continuous()
    delay = wakes.idle_delay(policy, streak, jitter)
    assert timedelta(seconds=60) <= delay <= 1.1 * timedelta(seconds=policy.idle_max_seconds)
    assert delay <= 1.1 * wakes.idle_delay(policy, streak, jitter=0) + timedelta(microseconds=1)


@pytest.mark.case("aoa-11")
def test_failures_back_off_to_a_quarter_of_an_hour() -> None:
    delays = [wakes.error_delay(n).total_seconds() for n in (0, 1, 2, 3, 4, 5, 6, 7, 10**6)]
    assert delays == [30, 30, 60, 120, 240, 480, 900, 900, 900]
