"""What counts as words, and what of a text or of JSON PostgreSQL can hold."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

#: Characters that take part in no visible mark although Unicode does not call them separators.
_UNSEEN = {"\u115f", "\u1160", "\u2800", "\u3164", "\uffa0"}
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Mn", "Zl", "Zp", "Zs"}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
MAX_DEPTH = 64
#: PostgreSQL and Python's JSON both hold whole numbers far larger; nobody reads them.
MAX_BITS = 4096


def is_blank(text: str) -> bool:
    """Whether nothing of a text shows: white space, zero-width, control or filler characters only."""
    return all(_unseen(character) for character in text)


def _unseen(character: str) -> bool:
    return (
        character.isspace()
        or character in _UNSEEN
        or unicodedata.category(character) in _UNSEEN_CATEGORIES
    )


def is_storable(text: str) -> bool:
    """Whether PostgreSQL holds a text as it is: no NUL and no half of a character."""
    return _UNSTORABLE.search(text) is None


def storable(value: Any, depth: int = 0) -> Any:
    """A text or JSON that PostgreSQL holds: what it cannot hold is shown as � or becomes null.

    Never raises: what happened must be written down whatever an agent put into it.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_BITS else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {
            storable(str(key)): storable(inner, depth + 1) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable(inner, depth + 1) for inner in value]
    return storable(str(value))
