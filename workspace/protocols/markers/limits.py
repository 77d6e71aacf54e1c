"""Rate limits, as errors tell of them.

Never to be read off an agent's own text: one that fixes a 429 handler is not limited.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

DEFAULT_WAIT = timedelta(hours=1)
LONGEST_WAIT = timedelta(days=31)

_LIMITED = re.compile(
    r"\b(?:429|402)\b|rate.?limit|too many requests|quota|balance exhausted|billing cycle"
    r"|(?:usage|session|credit|request|weekly|daily)s?.limit",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"(?:resets?|retry|try again|available again)\s+(?:in|after)[:\s]+"
    r"(?P<span>(?:\d+\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b\s*|"
    r"\d+[dhms](?=\d))+)",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d+)\s*([dhms])", re.IGNORECASE)
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def is_limit(error: str) -> bool:
    """Whether an error's words say that a quota is used up."""
    return bool(_LIMITED.search(error))


def free_again(words: str, now: datetime) -> datetime:
    """When the limit passes: what ``resets in 4h20m`` says, an hour if nothing is said."""
    found = _WAIT.search(words)
    if not found:
        return now + DEFAULT_WAIT
    parts = {_UNITS[unit.lower()]: int(number[:9]) for number, unit in _PART.findall(found["span"])}
    try:
        return now + min(timedelta(**parts), LONGEST_WAIT)
    except OverflowError:
        return now + LONGEST_WAIT
