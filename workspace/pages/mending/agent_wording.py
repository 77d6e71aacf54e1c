"""Describe an agent's wake policy in words."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import ValidationError

from agents import wake_policy


def wake_in_words(stored: dict[str, Any]) -> str:
    """Return an agent's wake policy as one sentence."""
    try:
        policy = wake_policy.parse_wake_policy(stored)
    except ValidationError:
        return _("Its wake policy cannot be read.")
    match policy:
        case wake_policy.Continuous():
            interval = duration_in_words(policy.every_seconds)
            return _(
                "On and on: {interval} after it did something, later while there is nothing."
            ).format(interval=interval)
        case wake_policy.Schedule(cron=None):
            return _("Every {interval}.").format(
                interval=duration_in_words(policy.every_seconds or 0)
            )
        case wake_policy.Schedule():
            return _("By the cron line {cron} in {zone}.").format(
                cron=policy.cron, zone=policy.time_zone
            )
        case wake_policy.OnMessage():
            return _("When a message names it.")
        case _:
            return _("Only when a person starts it.")


def duration_in_words(seconds: int) -> str:
    """Return a duration in the largest unit that divides it: `45 s`, `10 min`, `3 days`."""
    if seconds and seconds % 86_400 == 0:
        days = seconds // 86_400
        return ngettext("{count} day", "{count} days", days).format(count=days)
    if seconds and seconds % 3_600 == 0:
        return _("{count} h").format(count=seconds // 3_600)
    if seconds and seconds % 60 == 0:
        return _("{count} min").format(count=seconds // 60)
    return _("{count} s").format(count=seconds)
