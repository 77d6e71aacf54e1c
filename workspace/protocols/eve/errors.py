"""Errors as the protocol words them: {"ok": false, "error": sentence, "code": word}."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse

from workspace.accounts.api_keys import KeyRefused

NO_STORE = {"Cache-Control": "no-store"}


class EveProblem(Exception):
    """Raised to refuse a request. ``code`` is for programs; the protocol's own 400s have none."""

    def __init__(
        self, status: int, error: str, code: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.code = status, error, code
        self.headers = headers or {}

    def as_response(self) -> HttpResponse:
        said: dict[str, Any] = {"ok": False, "error": self.error}
        if self.code:
            said["code"] = self.code
        return as_json(said, status=self.status, headers=self.headers)


def as_json(
    said: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None
) -> HttpResponse:
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    headers = NO_STORE | (headers or {})
    return HttpResponse(text, status=status, content_type="application/json", headers=headers)


def of_key(refused: KeyRefused) -> EveProblem:
    """What a key that does not open this is told: 401 for none, 403 for one that does not reach."""
    if refused.status == 401:
        words = "Authorization is required for this route."
        return EveProblem(401, words, "unauthorized", {"WWW-Authenticate": "Bearer"})
    return EveProblem(403, refused.detail, "forbidden")


def not_active() -> EveProblem:
    """Also for a session that is somebody else's, so that nobody learns what exists."""
    return EveProblem(409, "The session is no longer active.", "session_not_active")


def expired() -> EveProblem:
    """The answer that makes the clients stop asking for a stream that is not theirs or not there."""
    return EveProblem(410, "The session is not there, or no longer.", "session_expired")


def stale_token() -> EveProblem:
    words = "This continuationToken is not this session's. Nothing was sent."
    return EveProblem(409, words, "stale_continuation_token")


def invalid(error: str) -> EveProblem:
    return EveProblem(400, error)
