"""Read what clients send. Bodies are read strictly; errors use the protocol's own sentences."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr, StringConstraints, ValidationError

from agents.messages import MESSAGE_LIMIT
from agents.text import json_input
from agents.text.storable import is_blank, is_storable
from workspace.protocols.common import http
from workspace.protocols.eve.errors import EveProblem, invalid, of_request

MAX_RESPONSES = 100
MAX_TEXT = 16_000
Json = dict[str, Any]

NOT_JSON = "Invalid JSON body."
NOT_AN_OBJECT = "Expected a JSON object."
EMPTY_MESSAGE = "Expected 'message' to be non-empty when provided."
BAD_MESSAGE = "Expected 'message' to be a string or an array of text/file parts."
NOT_ON_CREATE = "'inputResponses' is only accepted for an existing session."
NO_MESSAGE = (
    "Creating a session without a message does not accept 'clientContext', 'callback', or "
    "'outputSchema'."
)
NOTHING = "Expected a non-empty 'message' or a non-empty 'inputResponses' array."
BOTH = "'message' and 'inputResponses' are mutually exclusive."
EMPTY_RESPONSES = "Expected 'inputResponses' to be a non-empty array."
BAD_RESPONSES = "Expected every 'inputResponses' entry to match the HITL response schema."
BAD_POLICY = "Expected 'turnPolicy' to be either 'queue' or 'steer'."
BAD_CONTEXT = "Expected 'clientContext' to be a string, an array of strings, or an object."
#: Fields that would change how a session works and that this server does not support: rejected,
#: never ignored.
NOT_SERVED = ("callback", "forwardedPrincipal", "outputSchema", "stubs")


class InputResponse(BaseModel):
    """One answer to one request, which ``requestId`` names."""

    model_config = ConfigDict(extra="forbid")
    requestId: Annotated[StrictStr, StringConstraints(min_length=1, max_length=200)]  # noqa: N815
    optionId: StrictStr | None = None  # noqa: N815
    text: StrictStr | None = None


class _TextPart(BaseModel):
    type: Literal["text"]
    text: StrictStr


class CreateSession(BaseModel):
    """A session to open. Without a message it waits for one. ``digest`` is the hash of the body."""

    message: str = ""
    context: str = ""
    operation: Annotated[str, Field(max_length=200)] = ""
    digest: str = ""


class ContinueSession(BaseModel):
    """A message or answers for an existing session. ``token`` is None if none was sent."""

    message: str = ""
    context: str = ""
    responses: list[InputResponse] = []
    token: str | None = None


def read_create(raw: bytes) -> CreateSession:
    """Read the body that opens a session. Raises EveProblem."""
    body = parse_body(raw)
    if "inputResponses" in body:
        raise invalid(NOT_ON_CREATE)
    if "continuationToken" in body:
        raise invalid("Send a 'continuationToken' to the session's own address.")
    message = _message(body)
    if not message and any(body.get(name) is not None for name in _WITH_A_MESSAGE):
        raise invalid(NO_MESSAGE)
    _reject_unsupported(body)
    return CreateSession(
        message=message,
        context=_context(body.get("clientContext")),
        operation=_operation(body.get("operationId")),
        digest=hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
    )


_WITH_A_MESSAGE = ("clientContext", "callback", "outputSchema")


def read_continue(raw: bytes) -> ContinueSession:
    """Read the body that continues a session. Raises EveProblem."""
    body = parse_body(raw)
    responses = _responses(body["inputResponses"]) if "inputResponses" in body else []
    message = _message(body)
    if responses and "message" in body:
        raise invalid(BOTH)
    if not responses and not message:
        raise invalid(NOTHING)
    if body.get("turnPolicy") not in (None, "queue", "steer"):
        raise invalid(BAD_POLICY)
    _reject_unsupported(body)
    return ContinueSession(
        message=message,
        context=_context(body.get("clientContext")),
        responses=responses,
        token=_token(body),
    )


def read_cancel(raw: bytes) -> str | None:
    """Return the id of the turn to cancel; None for the current one. Raises EveProblem."""
    turn = parse_body(raw).get("turnId")
    if turn is not None and not isinstance(turn, str):
        raise invalid("Expected 'turnId' to be a string.")
    return turn


def read_reset(raw: bytes) -> str:
    """Return the caller's reason for a reset. Raises EveProblem."""
    reason = parse_body(raw).get("reason")
    if reason is not None and not isinstance(reason, str):
        raise invalid("Expected 'reason' to be a string.")
    return _checked("reason", reason or "", 1000)


def parse_body(raw: bytes) -> Json:
    """Return the JSON object of a body. An empty body counts as {}. Raises EveProblem."""
    if len(raw) > http.MAX_BODY:
        raise of_request(http.too_large())
    if not raw:
        return {}
    try:
        body = json_input.read_json_strictly(raw)
    except ValueError as error:
        raise invalid(NOT_JSON) from error
    if not isinstance(body, dict):
        raise invalid(NOT_AN_OBJECT)
    return body


def _message(body: Json) -> str:
    """Return the text of the message; empty if there is no message."""
    given = body.get("message")
    if given is None and "message" not in body:
        return ""
    if isinstance(given, list):
        given = "\n".join(_part(part) for part in given)
    if not isinstance(given, str):
        raise invalid(BAD_MESSAGE)
    if is_blank(given):
        raise invalid(EMPTY_MESSAGE)
    return _checked("message", given, MESSAGE_LIMIT)


def _part(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "file":
        raise EveProblem(415, "This agent accepts text, but no files.", "unsupported_file")
    if isinstance(kind, str) and kind != "text":
        shown = kind[:40]
        raise invalid(f"Unsupported message part type \"{shown}\". Use 'text' or 'file'.")
    try:
        return _TextPart.model_validate(part).text
    except ValidationError as error:
        raise invalid(BAD_MESSAGE) from error


def _responses(given: object) -> list[InputResponse]:
    if not isinstance(given, list) or not given:
        raise invalid(EMPTY_RESPONSES)
    if len(given) > MAX_RESPONSES:
        raise invalid(f"Expected 'inputResponses' to have at most {MAX_RESPONSES} entries.")
    try:
        found = [InputResponse.model_validate(one) for one in given]
    except ValidationError as error:
        raise invalid(BAD_RESPONSES) from error
    if len({one.requestId for one in found}) < len(found):
        detail = "Two of the 'inputResponses' are for one request. Nothing was answered."
        raise EveProblem(400, detail, "duplicate_response")
    return found


def _context(given: object) -> str:
    """Return as text the context that a client sends along with its message."""
    if given is None:
        return ""
    if isinstance(given, str):
        context = given
    elif isinstance(given, list) and all(isinstance(one, str) for one in given):
        context = "\n".join(given)
    elif isinstance(given, dict):
        context = json.dumps(given, ensure_ascii=False)
    else:
        raise invalid(BAD_CONTEXT)
    return _checked("clientContext", context, MESSAGE_LIMIT)


def _operation(given: object) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or not given.strip():
        raise invalid("Expected 'operationId' to be a non-empty string.")
    return _checked("operationId", given, 200)


def _token(body: Json) -> str | None:
    given = body.get("continuationToken")
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise invalid("Missing or empty 'continuationToken' field.")
    return given


def _checked(name: str, text: str, limit: int) -> str:
    """Return a text that PostgreSQL can store and that is short enough. Raises EveProblem."""
    if not is_storable(text):
        raise invalid(f"'{name}' contains a character that cannot be stored.")
    if len(text) > limit:
        raise EveProblem(413, f"'{name}' has {len(text)} characters; the limit is {limit}.")
    return text


def _reject_unsupported(body: Json) -> None:
    for name in NOT_SERVED:
        if body.get(name) is not None:
            raise EveProblem(400, f"'{name}' is not supported by this server.", "unsupported")
    if body.get("mode") not in (None, "conversation"):
        raise EveProblem(400, "Only the mode 'conversation' is supported.", "unsupported")
    capabilities = body.get("capabilities")
    if capabilities is not None and not isinstance(capabilities, dict):
        raise invalid("Expected 'capabilities' to be an object.")
    if (capabilities or {}).get("requestInput") is False:
        detail = "Agents here may always ask: 'requestInput' cannot be false."
        raise EveProblem(400, detail, "unsupported")
