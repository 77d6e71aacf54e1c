"""Calling any server over HTTP: the key, the time-outs, and what an answer means beside its protocol."""

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
#: Seconds: no server is believed to be away for longer.
LONGEST_WAIT = 31 * 86_400.0
LARGEST_SHORT = 64 * 1024
#: Statuses after which trying again may help, and those that say that nothing was taken.
_LATER, _NOT_TAKEN = frozenset({408, 425, 429}), frozenset({425, 429, 503})
#: The request never left, so nothing can have been taken.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class ServerAway(Exception):
    """It did not answer, or said that it cannot now. ``retry_after`` in seconds.

    ``may_have_taken`` for an error after which nobody knows what became of a request.
    """

    def __init__(
        self, words: str, retry_after: float | None = None, *, may_have_taken: bool = False
    ) -> None:
        super().__init__(words)
        self.retry_after, self.may_have_taken = retry_after, may_have_taken


class PermanentError(Exception):
    """Something is wrong that is still wrong when it is tried again."""


class GarbledReply(PermanentError):
    """It says what is not the protocol."""


class NoKey(PermanentError):
    """The worker's environment lacks the variable that is to hold the key."""


def bearer(variable: str) -> dict[str, str]:
    """The header with the key that an environment variable holds; none without a variable.

    Raises NoKey for a variable that is not there.
    """
    if not variable:
        return {}
    if not (key := os.environ.get(variable)):
        raise NoKey(f"The worker's environment has no {variable}, which holds the key.")
    return {"Authorization": f"Bearer {key}"}


def timeouts(silence: float | None) -> httpx.Timeout:
    """How long a server may be silent, in seconds; a connection is there sooner, or not at all."""
    return httpx.Timeout(silence, connect=CONNECT_SECONDS)


def away_by_status(reply: httpx.Response, words: str) -> ServerAway | None:
    """What a status means after which trying again may help; None for any other."""
    if reply.status_code not in _LATER and reply.status_code < 500:
        return None
    after = retry_after(reply.headers.get("retry-after", ""))
    return ServerAway(words, after, may_have_taken=reply.status_code not in _NOT_TAKEN)


async def shorten_reply(reply: httpx.Response) -> bytes:
    """A reply that is no stream, as far as anybody reads one."""
    raw = b""
    async for piece in reply.aiter_bytes():
        raw += piece
        if len(raw) > LARGEST_SHORT:
            break
    return raw


def read_object(raw: bytes) -> Json:
    """The JSON object in these bytes; empty for anything else."""
    try:
        found = json_input.read_json(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def retry_after(text: str) -> float | None:
    """Retry-After in seconds from now, a month at the most; None for what is neither that nor a date."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text)
    return None if math.isnan(seconds) else max(0.0, min(seconds, LONGEST_WAIT))


def _until(text: str) -> float:
    """Seconds until a date of HTTP; NaN for what is none."""
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return math.nan
    return (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
