"""Tell whether an approval that a turn was given has ended before it could be passed on."""

from __future__ import annotations

from agents.running.runtime import Given
from asks.lifecycle import Meaning


def why_ended(given: Given) -> str:
    """Return why an approval has ended, in words; empty if it is good, or is no approval."""
    ended = given.data.get("ended")
    if given.data.get("meaning") != Meaning.APPROVE or not isinstance(ended, dict):
        return ""
    return str(ended.get("text") or ended.get("why") or "It has ended.")
