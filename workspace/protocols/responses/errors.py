"""Errors in the shape of the Responses protocol: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

from django.http import HttpResponse

from workspace.protocols.common.http import HttpProblem, RefusedRequest
from workspace.protocols.responses.wire import compact_json

_TYPES = {401: "authentication_error", 403: "permission_error", 500: "server_error"}


class ResponsesProblem(HttpProblem):
    """Raised to refuse a request. ``param`` names the field at fault, ``code`` is for programs.

    Client libraries retry after 409. A refusal stays a refusal, so a header tells them not to.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers or {})
        if status == 409:
            self.headers["x-should-retry"] = "false"

    def as_response(self) -> HttpResponse:
        error = {
            "message": self.message,
            "type": _TYPES.get(self.status, "invalid_request_error"),
            "param": self.param,
            "code": self.code,
        }
        return HttpResponse(
            compact_json({"error": error}),
            status=self.status,
            content_type="application/json",
            headers=self.headers,
        )


#: The protocol's code for what every protocol refuses; none where the status says enough.
_CODES = {
    "no_key": "invalid_api_key",
    "scope": "not_permitted",
    "too_large": "too_large",
    "cut_off": "too_large",
}


def of_request(refused: RefusedRequest) -> ResponsesProblem:
    """Word a refusal that every protocol shares."""
    code = _CODES.get(refused.reason)
    return ResponsesProblem(refused.status, refused.detail, code=code, headers=refused.headers)


def invalid(message: str, param: str, code: str = "invalid_value") -> ResponsesProblem:
    return ResponsesProblem(400, message, code=code, param=param)


def no_such_response(public_id: str) -> ResponsesProblem:
    """Refuse a response that is missing or not visible to this key. The answer does not tell which."""
    return ResponsesProblem(404, f"Response with id '{public_id}' not found.", param="response_id")


def no_previous(public_id: str) -> ResponsesProblem:
    return ResponsesProblem(
        400,
        f"Previous response with id '{public_id}' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def no_such_item(item_id: str) -> ResponsesProblem:
    return ResponsesProblem(
        400, f"Item with id '{item_id}' not found.", code="item_not_found", param="input"
    )


def no_previous_named() -> ResponsesProblem:
    return ResponsesProblem(
        400,
        "An answer names the response that asked: send previous_response_id.",
        code="previous_response_id_required",
        param="previous_response_id",
    )


def no_such_approval(request_id: str) -> ResponsesProblem:
    return ResponsesProblem(
        400,
        f"No approval request found with id '{request_id}'.",
        code="approval_request_not_found",
        param="input",
    )


def no_such_endpoint() -> ResponsesProblem:
    return ResponsesProblem(
        404, "This part of the protocol is not served here.", code="unsupported_endpoint"
    )


def no_tool_output(call_id: str) -> ResponsesProblem:
    return ResponsesProblem(
        400, f"No tool output found for function call {call_id}.", param="input"
    )


def no_tool_call(call_id: str) -> ResponsesProblem:
    return ResponsesProblem(
        400, f"No tool call found for function call output with call_id {call_id}.", param="input"
    )
