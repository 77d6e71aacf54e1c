"""Errors in the shape of the leaf protocol: {"error": word, "detail": sentence}."""

from __future__ import annotations

from django.http import HttpResponse

from workspace.protocols.common.http import HttpProblem, RefusedRequest, one_line_json

#: The protocol's word for what every protocol refuses, where it has a word of its own.
_WORDS = {"no_key": "unauthorized", "scope": "forbidden", "cut_off": "too_large"}
_AWAY = "The database is away. Send the same again: nothing is lost or done twice."


class LeafProblem(HttpProblem):
    """Raised to refuse a request. ``error`` is for programs, ``detail`` for people."""

    def __init__(
        self, status: int, error: str, detail: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.error, self.detail, self.headers = status, error, detail, headers or {}

    def as_response(self) -> HttpResponse:
        return HttpResponse(
            one_line_json({"error": self.error, "detail": self.detail}),
            status=self.status,
            content_type="application/json",
            headers=self.headers,
        )


def of_request(refused: RefusedRequest) -> LeafProblem:
    """Word a refusal that every protocol shares."""
    word = _WORDS.get(refused.reason, refused.reason)
    detail = _AWAY if refused.reason == "unavailable" else refused.detail
    return LeafProblem(refused.status, word, detail, refused.headers)


def bad_envelope(detail: str) -> LeafProblem:
    return LeafProblem(400, "envelope_invalid", detail)
