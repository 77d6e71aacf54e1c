"""What is remembered of a conversation with somebody else's server, in its session's data."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agents.running.runtime import Given

M = TypeVar("M", bound=BaseModel)


def load_memory(kind: type[M], place: str, data: dict[str, Any], left_behind: dict[str, Any]) -> M:
    """The memory at a place of a session's data; a worker that died in this turn left a later one."""
    for found in (left_behind.get(place), data.get(place)):
        if found:
            try:
                return kind.model_validate(found)
            except ValidationError:
                continue
    return kind()


def digest_given(given: Given) -> str:
    """By which the same thing, given again, is known."""
    parts = [given.kind, given.author, given.body, json.dumps(given.data, sort_keys=True)]
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]
