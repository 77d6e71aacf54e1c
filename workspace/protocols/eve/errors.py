"""Errors as the protocol words them: {"ok": false, "error": sentence, "code": word}."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from workspace.protocols.common.http import HttpProblem, RefusedRequest, one_line_json

NO_STORE = {"Cache-Control": "no-store"}


class EveProblem(HttpProblem):
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
    headers = NO_STORE | (headers or {})
    return HttpResponse(
        one_line_json(said), status=status, content_type="application/json", headers=headers
    )


#: The protocol's code for what every protocol refuses; none where the status says enough.
_CODES = {
    "scope": "forbidden",
    "too_large": "too_large",
    "cut_off": "too_large",
    "too_many_attempts": "too_many_attempts",
}


def of_request(refused: RefusedRequest) -> EveProblem:
    """Word a refusal that every protocol shares."""
    if refused.reason == "no_key":
        words = "Authorization is required for this route."
        return EveProblem(401, words, "unauthorized", {"WWW-Authenticate": "Bearer"})
    code = _CODES.get(refused.reason, "")
    return EveProblem(refused.status, refused.detail, code, refused.headers)


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
