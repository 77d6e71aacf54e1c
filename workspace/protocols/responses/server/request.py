"""Read the body that creates a response. Raises ResponsesProblem if it is not acceptable.

Unknown fields are ignored, as the protocol's servers do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from agents.text import json_input
from agents.text.storable import is_storable, make_storable
from workspace.protocols.responses.errors import ResponsesProblem, invalid
from workspace.protocols.responses.server.ids import new_id
from workspace.protocols.responses.wire import Json, function_call_output, input_message

MAX_ITEMS = 1000
MAX_CALL_ID = 64
MAX_METADATA, MAX_METADATA_KEY, MAX_METADATA_VALUE = 16, 64, 512
MAX_MODEL = 200
ROLES = ("user", "assistant", "system", "developer")
_TEXT_PARTS = ("input_text", "output_text", "text")


@dataclass(frozen=True)
class Output:
    """A function's result, or an answer: ``value`` as sent, and its ``text``."""

    call_id: str
    value: Any
    text: str


@dataclass(frozen=True, kw_only=True)
class CreateResponse:
    """A checked request to create a response. ``items`` are its input as it is stored."""

    items: tuple[Json, ...]
    outputs: tuple[Output, ...] = ()
    model: str = ""
    stream: bool = False
    background: bool = False
    store: bool = True
    previous: str = ""
    said: Json = field(default_factory=dict)
    idempotency: str = ""

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Return the messages of the input as (role, text), oldest first."""
        return [
            (item["role"], text_of(item["content"]))
            for item in self.items
            if item["type"] == "message"
        ]

    @property
    def text(self) -> str:
        """Return the user's last message: the request of this turn."""
        said = [text for role, text in self.messages if role == "user"]
        return said[-1] if said else ""


def read_create(raw: bytes, idempotency: str = "") -> CreateResponse:
    """Read the request of a body. Raises ResponsesProblem.

    ``idempotency`` is the caller's idempotency key. Its stored hash includes the body, so another
    body with the same key is another request.
    """
    body = _json_object(raw)
    items = _items(body.get("input"))
    background, store = _flag(body, "background"), _flag(body, "store", default=True)
    if background and not store:
        code, param = "unsupported_parameter", "background"
        raise invalid("A background response must be stored.", param, code)
    if body.get("conversation") is not None:
        code, param = "unsupported_parameter", "conversation"
        raise invalid("Conversations are continued by previous_response_id here.", param, code)
    return CreateResponse(
        items=tuple(items),
        outputs=tuple(_output(item) for item in items if item["type"] == "function_call_output"),
        model=_text(body, "model", MAX_MODEL),
        stream=_flag(body, "stream"),
        background=background,
        store=store,
        previous=_text(body, "previous_response_id", MAX_MODEL),
        said=_said(body),
        idempotency=_named(idempotency, raw),
    )


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


def _said(body: Json) -> Json:
    """Return the fields that are echoed unchanged."""
    tools = [] if body.get("tools") is None else body["tools"]
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise invalid("tools must be a list of objects.", "tools")
    user, instructions = body.get("user"), body.get("instructions")
    return {
        "metadata": _metadata(body.get("metadata")),
        "tools": tools,
        "user": user if isinstance(user, str) else None,
        "instructions": instructions if isinstance(instructions, str) else None,
    }


def _metadata(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_METADATA:
        raise invalid(f"metadata must be an object of at most {MAX_METADATA} pairs.", "metadata")
    for name, text in value.items():
        if (
            len(name) > MAX_METADATA_KEY
            or not isinstance(text, str)
            or len(text) > MAX_METADATA_VALUE
        ):
            why = f"at most {MAX_METADATA_KEY} characters in a name, and {MAX_METADATA_VALUE} in a value"
            raise invalid(f"metadata may have {why}.", "metadata")
    return value


def _items(given: object) -> list[Json]:
    if given is None or given in ("", []):
        code = "missing_required_parameter"
        raise invalid("Missing required parameter: 'input'.", "input", code)
    if isinstance(given, str):
        return [input_message("user", [{"type": "input_text", "text": given}])]
    if not isinstance(given, list) or len(given) > MAX_ITEMS:
        raise invalid(f"input must be a text or a list of at most {MAX_ITEMS} items.", "input")
    return [_item(item) for item in given]


def _item(item: object) -> Json:
    if not isinstance(item, dict):
        raise invalid("An item of input must be an object.", "input")
    kind = item.get("type", "message")
    if not isinstance(kind, str):
        raise invalid("An item's type must be a text.", "input")
    if kind == "message":
        return _message(item)
    if kind == "function_call_output":
        return _function_call_output(item)
    return {**item, "type": kind, "id": new_id("item")}


def _message(item: Json) -> Json:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        raise invalid(f"A message's role must be one of {', '.join(ROLES)}.", "input")
    if isinstance(content, str):
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise invalid("A message's content must be a text or a list of parts.", "input")
    return input_message(role, content)


def _function_call_output(item: Json) -> Json:
    call_id, output = item.get("call_id"), item.get("output")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= MAX_CALL_ID:
        raise invalid(f"A call_id must have 1 to {MAX_CALL_ID} characters.", "input")
    parts = isinstance(output, list) and all(isinstance(part, dict) for part in output)
    if not isinstance(output, str) and not parts:
        raise invalid("A function call's output must be a text or a list of parts.", "input")
    return function_call_output(call_id, output)


def _output(item: Json) -> Output:
    value = item["output"]
    text = value if isinstance(value, str) else text_of(value)
    return Output(item["call_id"], value, text)


def text_of(content: list[Json]) -> str:
    """Return the text of a message's or a result's parts."""
    texts = (part.get("text") for part in content if part.get("type") in _TEXT_PARTS)
    return "\n".join(text for text in texts if isinstance(text, str))


def request_of(text: str) -> Json:
    """Return the task of a run: the JSON object in the text, or {"text": text}."""
    try:
        request = json_input.read_json(text)
    except ValueError:
        request = None
    if isinstance(request, dict) and is_storable(text) and make_storable(request) == request:
        return request
    return {"text": text}
