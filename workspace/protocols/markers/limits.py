"""Detect rate limits in error messages.

Never apply this to an agent's own text: an agent that fixes a 429 handler is not rate limited.
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
    """Return whether an error message reports that a quota is used up."""
    return bool(_LIMITED.search(error))


def free_again(message: str, now: datetime) -> datetime:
    """Return when the limit ends: parsed from ``resets in 4h20m``, else in DEFAULT_WAIT."""
    match = _WAIT.search(message)
    if not match:
        return now + DEFAULT_WAIT
    parts = {_UNITS[unit.lower()]: int(number[:9]) for number, unit in _PART.findall(match["span"])}
    try:
        return now + min(timedelta(**parts), LONGEST_WAIT)
    except OverflowError:
        return now + LONGEST_WAIT
