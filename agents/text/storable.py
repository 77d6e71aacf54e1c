"""What counts as words, and what of a text or of JSON PostgreSQL can hold."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any, overload

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


@overload
def make_storable(value: str) -> str: ...
@overload
def make_storable(value: dict[str, Any]) -> dict[str, Any]: ...
@overload
def make_storable(value: object) -> object: ...
def make_storable(value: object) -> object:
    """A text or JSON that PostgreSQL holds: what it cannot hold is shown as � or becomes null.

    Never raises: what happened must be written down whatever an agent put into it.
    """
    return _storable(value, depth=0)


def _storable(value: object, depth: int) -> object:  # noqa: PLR0911 -- a line for each kind
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if value is None:
        return None
    if isinstance(value, int | float):
        return value if _is_number(value) else None
    if isinstance(value, dict | list | tuple) and depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {
            make_storable(str(key)): _storable(inner, depth + 1) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_storable(inner, depth + 1) for inner in value]
    return make_storable(str(value))


def _is_number(value: int | float) -> bool:  # noqa: PYI041 -- the checker tells them apart
    """Whether JSON has this number, at a length that anybody reads."""
    return math.isfinite(value) if isinstance(value, float) else value.bit_length() <= MAX_BITS
