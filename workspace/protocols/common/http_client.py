"""Call a remote server over HTTP: its key, timeouts, and the errors common to all protocols."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from agents.text import json_input

Json = dict[str, Any]

CONNECT_SECONDS = 10.0
#: The longest Retry-After that is honoured, in seconds.
LONGEST_WAIT = 31 * 86_400.0
#: The most that is read of a reply that is not a stream, in bytes.
LARGEST_SHORT = 64 * 1024
#: Statuses below 500 that are worth a retry, and statuses after which the request was not accepted.
_LATER, _NOT_TAKEN = frozenset({408, 425, 429}), frozenset({425, 429, 503})
#: The request was never sent, so the server cannot have accepted it.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class ServerAway(Exception):
    """The server did not answer, or is unavailable. ``retry_after`` is in seconds.

    ``may_have_taken``: the request may have been accepted all the same.
    """

    def __init__(
        self, words: str, retry_after: float | None = None, *, may_have_taken: bool = False
    ) -> None:
        super().__init__(words)
        self.retry_after, self.may_have_taken = retry_after, may_have_taken


class PermanentError(Exception):
    """An error that a retry cannot help."""


class GarbledReply(PermanentError):
    """The reply violates the protocol."""


class NoKey(PermanentError):
    """The worker's environment lacks the variable that should hold the key."""


def bearer(variable: str) -> dict[str, str]:
    """Return the header with the key from an environment variable; empty without a variable name.

    Raises NoKey if the variable is not set.
    """
    if not variable:
        return {}
    if not (key := os.environ.get(variable)):
        raise NoKey(f"The worker's environment has no {variable}, which holds the key.")
    return {"Authorization": f"Bearer {key}"}


def timeouts(silence: float | None) -> httpx.Timeout:
    """Return timeouts: ``silence`` seconds for data, and a fixed limit for connecting."""
    return httpx.Timeout(silence, connect=CONNECT_SECONDS)


def away_by_status(reply: httpx.Response, words: str) -> ServerAway | None:
    """Return the error for a status that is worth a retry; None for any other status."""
    if reply.status_code not in _LATER and reply.status_code < 500:
        return None
    after = retry_after(reply.headers.get("retry-after", ""))
    return ServerAway(words, after, may_have_taken=reply.status_code not in _NOT_TAKEN)


async def shorten_reply(reply: httpx.Response) -> bytes:
    """Read a reply that is not a stream, up to a limit of about LARGEST_SHORT bytes."""
    raw = b""
    async for chunk in reply.aiter_bytes():
        raw += chunk
        if len(raw) > LARGEST_SHORT:
            break
    return raw


def read_object(raw: bytes) -> Json:
    """Return the JSON object in these bytes; empty for anything else."""
    try:
        found = json_input.read_json(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def retry_after(text: str) -> float | None:
    """Return Retry-After in seconds from now, at most a month; None if it is unreadable."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text)
    return None if math.isnan(seconds) else max(0.0, min(seconds, LONGEST_WAIT))


def _until(text: str) -> float:
    """Return the seconds until an HTTP date; NaN for anything else."""
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return math.nan
    return (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
