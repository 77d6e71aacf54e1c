"""Names on the wire: random, except for what a brain may choose of its question's id."""

from __future__ import annotations

import re
import secrets

#: An item's ``name`` and a question's ``call_id`` have 64 characters at the most, and twelve random
#: ones with a dot always end the latter.
STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,50}")
FALLBACK_STEM = "req"
SUFFIX_BYTES = 6


def new_id(kind: str) -> str:
    """``resp_``, ``msg_``, ``fc_`` or ``fco_`` and 48 hexadecimal characters."""
    return f"{kind}_{secrets.token_hex(24)}"


def request_id(wish: object) -> str:
    """The id of a pause: the brain's wish as its stem, if that is well formed, and a random end.

    The end is always added, also to what looks as if it had one, so no two pauses share an id.
    """
    stem = wish if isinstance(wish, str) and STEM.fullmatch(wish) else FALLBACK_STEM
    return f"{stem}.{secrets.token_hex(SUFFIX_BYTES)}"
