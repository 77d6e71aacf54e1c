"""Errors in the shape of the eve protocol: {"ok": false, "error": sentence, "code": word}."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from workspace.protocols.common.http import HttpProblem, RefusedRequest, one_line_json

NO_STORE = {"Cache-Control": "no-store"}


class EveProblem(HttpProblem):
    """Raised to refuse a request. ``code`` is for programs; the protocol's own 400s have no code."""

    def __init__(
        self, status: int, error: str, code: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.code = status, error, code
        self.headers = headers or {}

    def as_response(self) -> HttpResponse:
        body: dict[str, Any] = {"ok": False, "error": self.error}
        if self.code:
            body["code"] = self.code
        return as_json(body, status=self.status, headers=self.headers)


def as_json(
    body: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None
) -> HttpResponse:
    headers = NO_STORE | (headers or {})
    return HttpResponse(
        one_line_json(body), status=status, content_type="application/json", headers=headers
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
        detail = "Authorization is required for this route."
        return EveProblem(401, detail, "unauthorized", {"WWW-Authenticate": "Bearer"})
    code = _CODES.get(refused.reason, "")
    return EveProblem(refused.status, refused.detail, code, refused.headers)


def not_active() -> EveProblem:
    """Refuse a session that has ended or is not the caller's. The answer does not tell which."""
    return EveProblem(409, "The session is no longer active.", "session_not_active")


def expired() -> EveProblem:
    """Refuse a stream for good: clients stop asking for it. The session is missing or not theirs."""
    return EveProblem(410, "There is no such session, or it has ended.", "session_expired")


def stale_token() -> EveProblem:
    detail = "This continuationToken belongs to another session. Nothing was sent."
    return EveProblem(409, detail, "stale_continuation_token")


def invalid(error: str) -> EveProblem:
    return EveProblem(400, error)
