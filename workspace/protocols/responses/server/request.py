"""Read the body that creates a response. Raises ResponsesProblem if it is not acceptable."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property

from agents.text import json_input
from agents.text.storable import is_storable, make_storable
from workspace.protocols.responses.errors import (
    ResponsesProblem,
    invalid,
    no_tool_call,
    no_tool_output,
)
from workspace.protocols.responses.models import Steps
from workspace.protocols.responses.server import parameters
from workspace.protocols.responses.server.input_items import files_of, read_items, text_of, told
from workspace.protocols.responses.wire import QUESTIONS, Json

MAX_MODEL = 200
#: Whose messages may follow the request.
_MAY_FOLLOW = ("system", "developer")


@dataclass(frozen=True)
class Output:
    """A function's result, which may be an answer."""

    call_id: str
    text: str
    has_files: bool


@dataclass(frozen=True)
class Approval:
    """A yes or no in the shape of the MCP protocol."""

    request_id: str
    approve: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class CreateResponse:
    """A checked request to create a response.

    ``items`` are its input as it is stored, ``said`` the fields that the response repeats, and
    ``wish`` is how its caller wants to see steps, if it said so. ``ignored`` names the fields that
    have no effect.
    """

    items: tuple[Json, ...]
    model: str = ""
    stream: bool = False
    background: bool = False
    previous: str = ""
    said: Json = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    wish: Steps | None = None
    idempotency: str = ""

    @cached_property
    def outputs(self) -> list[Output]:
        return [_output(item) for item in self.items if item["type"] == "function_call_output"]

    @cached_property
    def approvals(self) -> list[Approval]:
        found = (item for item in self.items if item["type"] == "mcp_approval_response")
        return [
            Approval(item["approval_request_id"], item["approve"], item["reason"] or "")
            for item in found
        ]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Return the messages of the input as (role, text), oldest first."""
        messages = (told(item) for item in self.items if item["type"] == "message")
        return [message for message in messages if message is not None]

    @property
    def text(self) -> str:
        """Return the user's last message: the request of this turn."""
        place = request_place(self.items)
        return "" if place is None else text_of(self.items[place]["content"])

    @property
    def functions(self) -> set[str]:
        """Return the names of the functions that the caller declares."""
        return {tool["name"] for tool in self.said["tools"] if tool["type"] == "function"}

    @property
    def has_tools(self) -> bool:
        """Return whether the caller seems to run function calls itself."""
        calls = (item for item in self.items if item["type"] == "function_call")
        return bool(self.said["tools"]) or any(item["name"] not in QUESTIONS for item in calls)

    @property
    def forbids_calls(self) -> bool:
        return bool(self.said["tool_choice"] == "none")

    def check_asks_anew(self) -> None:
        """Raise ResponsesProblem unless the input ends with a request of a user.

        A result, a call or words of an agent after the last request belong to a turn that is over.
        Starting a turn for them would run the last request again.
        """
        place = request_place(self.items)
        after = self.items[0 if place is None else place + 1 :]
        for item in reversed(after):
            if item["type"] == "function_call_output":
                raise no_tool_call(item["call_id"])
            if item["type"] == "function_call":
                raise no_tool_output(item["call_id"])
        if not self.text.strip():
            raise invalid("input contains no text of a user.", "input")
        if not all(item.get("role") in _MAY_FOLLOW for item in after):
            raise invalid("input has no request of a user after the last answer to one.", "input")

    def resolved(self, items: list[Json]) -> CreateResponse:
        """Return the request with other items: those that its references name."""
        return replace(self, items=tuple(items))


def request_place(items: list[Json] | tuple[Json, ...]) -> int | None:
    """Return the place of the user's last message, or None."""
    places = (
        place
        for place, item in enumerate(items)
        if item["type"] == "message" and item["role"] == "user"
    )
    return max(places, default=None)


def read_create(raw: bytes, idempotency: str = "", wish: str = "") -> CreateResponse:
    """Read the request of a body. Raises ResponsesProblem.

    ``idempotency`` is the caller's idempotency key. Its stored hash includes the body, so another
    body with the same key is another request. ``wish`` is how the caller wants to see steps.
    """
    body = _json_object(raw)
    items = read_items(body.get("input"))
    background = _flag(body, "background")
    if background and not _flag(body, "store", default=True):
        raise parameters.unsupported("A background response must be stored.", "background")
    _flag(body, "store")
    parameters.check_supported(body)
    return CreateResponse(
        items=tuple(items),
        model=_text(body, "model", MAX_MODEL),
        stream=_flag(body, "stream"),
        background=background,
        previous=_text(body, "previous_response_id", MAX_MODEL),
        said=parameters.echoed(body),
        ignored=tuple(parameters.ignored_fields(body)),
        wish=_wish(wish),
        idempotency=_named(idempotency, raw),
    )


def _wish(steps: str) -> Steps | None:
    if steps and steps not in Steps.values:
        raise invalid(f"steps must be one of {', '.join(Steps.values)}.", "steps")
    return Steps(steps) if steps else None


def _named(idempotency: str, raw: bytes) -> str:
    if not idempotency:
        return ""
    return hashlib.sha256(idempotency.encode(errors="replace") + b"\0" + raw).hexdigest()


def _json_object(raw: bytes) -> Json:
    try:
        body = json_input.read_json_strictly(raw)
    except ValueError as error:
        raise ResponsesProblem(400, "The body is not JSON.", code="invalid_json") from error
    if not isinstance(body, dict):
        raise ResponsesProblem(400, "The body is not a JSON object.", code="invalid_json")
    if make_storable(body) != body:
        raise ResponsesProblem(
            400,
            "The body contains a character that cannot be stored, such as NUL.",
            code="invalid_value",
        )
    return body


def _flag(body: Json, name: str, *, default: bool = False) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise invalid(f"{name} must be true or false.", name)
    return value


def _text(body: Json, name: str, most: int) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > most:
        raise invalid(f"{name} must be a text of at most {most} characters.", name)
    return value


def _output(item: Json) -> Output:
    value = item["output"]
    if isinstance(value, str):
        return Output(item["call_id"], value, has_files=False)
    return Output(item["call_id"], text_of(value), has_files=bool(files_of(value)))


def request_of(text: str) -> Json:
    """Return the task of a run: the JSON object in the text, or {"text": text}."""
    try:
        request = json_input.read_json(text)
    except ValueError:
        request = None
    if isinstance(request, dict) and is_storable(text) and make_storable(request) == request:
        return request
    return {"text": text}
