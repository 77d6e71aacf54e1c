"""Says what is stored as data: when an agent wakes, what an event is."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from agents import wake_policy


def wake_in_words(stored: dict[str, Any]) -> str:
    """An agent's wake policy in one sentence."""
    try:
        policy = wake_policy.parse_wake_policy(stored)
    except ValidationError:
        return "Its wake policy cannot be read."
    match policy:
        case wake_policy.Continuous():
            often = span(policy.every_seconds)
            return f"On and on: {often} after it did something, later while there is nothing."
        case wake_policy.Schedule(cron=None):
            return f"Every {span(policy.every_seconds or 0)}."
        case wake_policy.Schedule():
            return f"By the cron line {policy.cron} in {policy.time_zone}."
        case wake_policy.OnMessage():
            return "When a message names it."
        case _:
            return "Only when a person starts it."


def span(seconds: int) -> str:
    """A length of time in the largest unit that says it whole: `45 s`, `10 min`, `3 days`."""
    for size, word in ((86_400, " days"), (3_600, " h"), (60, " min")):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{word}"
    return f"{seconds} s"
