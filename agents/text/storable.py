"""Decide whether text is blank, and make text and JSON storable in PostgreSQL."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any, overload

#: Invisible characters that Unicode does not classify as separators.
_UNSEEN = {"\u115f", "\u1160", "\u2800", "\u3164", "\uffa0"}
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Mn", "Zl", "Zp", "Zs"}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
MAX_DEPTH = 64
#: PostgreSQL and Python's JSON allow far larger whole numbers, but nobody can read them.
MAX_BITS = 4096


def is_blank(text: str) -> bool:
    """Whether a text has no visible character: only white space, control, zero-width and fillers."""
    return all(_unseen(character) for character in text)


def _unseen(character: str) -> bool:
    return (
        character.isspace()
        or character in _UNSEEN
        or unicodedata.category(character) in _UNSEEN_CATEGORIES
    )


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can store a text unchanged: it has no NUL and no lone surrogate."""
    return _UNSTORABLE.search(text) is None


@overload
def make_storable(value: str) -> str: ...
@overload
def make_storable(value: dict[str, Any]) -> dict[str, Any]: ...
@overload
def make_storable(value: object) -> object: ...
def make_storable(value: object) -> object:
    """Return a text or JSON that PostgreSQL can store: bad characters become �, bad values null.

    Never raises, because events must be recorded whatever an agent put into them.
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
    """Whether a number is finite and of a readable length."""
    return math.isfinite(value) if isinstance(value, float) else value.bit_length() <= MAX_BITS
