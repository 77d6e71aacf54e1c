"""Load what a session's data remembers of a conversation with a remote server."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agents.running.runtime import Given

M = TypeVar("M", bound=BaseModel)


def load_memory(kind: type[M], place: str, data: dict[str, Any], left_behind: dict[str, Any]) -> M:
    """Return the memory at a key of the session's data, or an empty one.

    What a worker that died in this turn left behind is newer, and is preferred.
    """
    for stored in (left_behind.get(place), data.get(place)):
        if stored:
            try:
                return kind.model_validate(stored)
            except ValidationError:
                continue
    return kind()


def digest_given(given: Given) -> str:
    """Return a digest that recognizes the same input when a later attempt is given it again."""
    parts = [given.kind, given.author, given.body, json.dumps(given.data, sort_keys=True)]
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]
