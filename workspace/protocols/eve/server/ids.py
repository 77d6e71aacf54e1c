"""Ids and times of wire events, derived from the stored event, so that every replay is the same."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from datetime import UTC, datetime

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def event_id(pk: int, place: int, at: datetime) -> str:
    """Return ``evt_`` and a ULID: the event's millisecond, then a hash of its key and place."""
    digest = hashlib.sha256(f"{pk}.{place}".encode()).digest()[:10]
    return f"evt_{_ulid(int(at.timestamp() * 1000), digest)}"


def new_session_id() -> str:
    """Return ``wrun_`` and a ULID that cannot be guessed."""
    return f"wrun_{_ulid(int(time.time() * 1000), secrets.token_bytes(10))}"


def new_token() -> str:
    """Return a continuation token. A session keeps one token for its whole life."""
    return f"eve:{uuid.uuid4()}"


def moment(at: datetime) -> str:
    """Return a time in ISO 8601 with milliseconds, in UTC."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ulid(milliseconds: int, chance: bytes) -> str:
    number = (milliseconds & (2**48 - 1)) << 80 | int.from_bytes(chance)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))
