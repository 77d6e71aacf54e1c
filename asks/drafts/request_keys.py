"""Keys of a protocol's requests. A repeated request gets the suffix ``~2``, ``~3`` …"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

_AGAIN = re.compile(r"~\d+\Z")


def root_of(request_key: str) -> str:
    """Return the protocol's own key, without the suffix of a repeated request."""
    return _AGAIN.sub("", request_key)


def is_repeated(request_key: str) -> bool:
    """Whether the key names a repeated request."""
    return _AGAIN.search(request_key) is not None


def next_key(request_key: str, taken: Collection[str]) -> str:
    """Return the first free key for repeating a request."""
    root = root_of(request_key)
    return next(key for n in itertools.count(2) if (key := f"{root}~{n}") not in taken)
