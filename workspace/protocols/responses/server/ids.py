"""Ids on the wire. They are random; a brain may choose the stem of its question's id."""

from __future__ import annotations

import re
import secrets

#: An item's ``name`` and a question's ``call_id`` have at most 64 characters. The latter always ends
#: with a dot and twelve random characters.
STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,50}")
FALLBACK_STEM = "req"
SUFFIX_BYTES = 6


def new_id(kind: str) -> str:
    """Return an id: its kind, e.g. ``resp``, and 48 hexadecimal characters."""
    return f"{kind}_{secrets.token_hex(24)}"


def request_id(wish: object) -> str:
    """Return the id of a question: the brain's stem, if it is well formed, and a random suffix.

    The suffix is always added, even if the stem seems to have one, so no two questions share an id.
    """
    stem = wish if isinstance(wish, str) and STEM.fullmatch(wish) else FALLBACK_STEM
    return f"{stem}.{secrets.token_hex(SUFFIX_BYTES)}"
