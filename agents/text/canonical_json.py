"""Makes what agents and people sent into JSON that has exactly one canonical form.

Params are checked when an ask is raised, but a context or an echo may hold what RFC 8785 refuses.
Here nothing is refused: a decision must never fail because of what was shown with it.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import rfc8785

LARGEST = 2**53 - 1
#: Whatever JSON can say.
Json = Any


def canonical_json(value: Json) -> bytes:
    """RFC 8785 canonical JSON of the plain form of a value, of any size."""
    return rfc8785.dumps(as_plain_json(value))


def as_plain_json(value: Json) -> Json:
    """A value by itself and by its way through a database column come out the same.

    Whole numbers are ints up to 2**53 - 1, floats beyond it where they are exact, text otherwise.
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
    """Somebody else's words, cut, for one line of a terminal or a log: what cannot be printed is shown
    as its number."""
    return "".join(
        letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text[:limit]
    )[:limit]


def iso_moment(at: datetime | None) -> str | None:
    """A moment as the ledger writes it: UTC with microseconds."""
    if at is None:
        return None
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
