"""Ids on the wire. They are random; a brain may choose the stem of its question's id.

The id of an output item begins like the id of its response, so a reference to it can be resolved.
"""

from __future__ import annotations

import re
import secrets

#: An item's ``name`` and a question's ``call_id`` have at most 64 characters. The latter always ends
#: with a dot and twelve random characters.
STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,50}")
FALLBACK_STEM = "req"
SUFFIX_BYTES = 6
_RESPONSE = re.compile(r"resp_[0-9a-f]{48}")
_ITEM = re.compile(r"[a-z]{1,8}_([0-9a-f]{24})[0-9a-f]{24}")
#: The hexadecimal characters that an item's id shares with the id of its response.
_SHARED = 24


def new_id(kind: str) -> str:
    """Return an id: its kind, e.g. ``resp``, and 48 hexadecimal characters."""
    return f"{kind}_{secrets.token_hex(24)}"


def new_item_id(kind: str, public_id: str) -> str:
    """Return the id of an output item of a response."""
    return bound_item_id(kind, public_id, secrets.token_hex(24))


def bound_item_id(kind: str, public_id: str, rest: str) -> str:
    """Return the id of an output item that ends with the first characters of ``rest``."""
    shared = public_id.partition("_")[2][:_SHARED]
    return f"{kind}_{shared}{rest[:_SHARED]}"


def may_be_response(public_id: str) -> bool:
    """Return whether a text from a caller can be the id of a response at all."""
    return _RESPONSE.fullmatch(public_id) is not None


def response_prefix_of(item_id: str) -> str:
    """Return how the id of an item's response begins, or "" if no item can have this id."""
    found = _ITEM.fullmatch(item_id)
    return f"resp_{found[1]}" if found else ""


def request_id(wish: object) -> str:
    """Return the id of a question: the brain's stem, if it is well formed, and a random suffix.

    The suffix is always added, even if the stem seems to have one, so no two questions share an id.
    """
    stem = wish if isinstance(wish, str) and STEM.fullmatch(wish) else FALLBACK_STEM
    return f"{stem}.{secrets.token_hex(SUFFIX_BYTES)}"
