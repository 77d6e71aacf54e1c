"""What counts as words: text that a person would see something of."""

from __future__ import annotations

import unicodedata

#: Characters that take part in no visible mark although Unicode does not call them separators.
_UNSEEN = {"\u115f", "\u1160", "\u2800", "\u3164", "\uffa0"}


def is_blank(text: str) -> bool:
    """Whether nothing of a text shows: white space, zero-width, control or filler characters only."""
    return all(_unseen(character) for character in text)


def _unseen(character: str) -> bool:
    return (
        character.isspace()
        or character in _UNSEEN
        or unicodedata.category(character) in {"Cc", "Cf", "Zs", "Zl", "Zp", "Mn"}
    )
