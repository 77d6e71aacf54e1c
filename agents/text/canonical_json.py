"""Convert values from agents and people into JSON that has exactly one canonical form.

Params are validated when an ask is raised, but a context or an echo may contain values that RFC 8785
rejects. Nothing is rejected here: a decision must never fail because of the data shown with it.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import rfc8785

LARGEST = 2**53 - 1
#: Any JSON value.
Json = Any


def canonical_json(value: Json) -> bytes:
    """Return the RFC 8785 canonical JSON of a value's plain form, of any size."""
    return rfc8785.dumps(as_plain_json(value))


def as_plain_json(value: Json) -> Json:
    """Return the plain form of a value. It is the same before and after storing it in a JSON column.

    A whole number becomes an int up to 2**53 - 1, beyond that a float if it is exact, else text.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {as_plain_json(str(key)): as_plain_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain_json(inner) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return _whole(value)
    return _fraction(value) if isinstance(value, float) else str(value)


def _fraction(value: float) -> int | float | str:
    if not math.isfinite(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) <= LARGEST else value


def _whole(value: int) -> int | float | str:
    if abs(value) <= LARGEST:
        return value
    try:
        return float(value) if int(float(value)) == value else str(value)
    except OverflowError:
        return str(value)


def printable(text: str, limit: int) -> str:
    """Shorten a foreign text for one line of a terminal or log; escape unprintable characters."""
    return "".join(
        letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text[:limit]
    )[:limit]


def iso_moment(at: datetime | None) -> str | None:
    """Return a moment as the ledger writes it: UTC with microseconds."""
    if at is None:
        return None
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
