"""The items of a request's input, checked and in the form in which they are stored.

``ITEM_HANDLING`` and ``PART_HANDLING`` are the contract, and docs/responses.md repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from workspace.protocols.responses.errors import invalid
from workspace.protocols.responses.server.ids import new_id
from workspace.protocols.responses.server.parameters import Handling, unsupported
from workspace.protocols.responses.wire import (
    Json,
    compact_json,
    function_call_output,
    input_message,
)

MAX_ITEMS = 1000
MAX_CALL_ID = 64
MAX_ID = 200
ROLES = ("user", "assistant", "system", "developer")
ITEM_HANDLING: dict[str, Handling] = {
    "message": Handling.TOLD,
    "function_call": Handling.TOLD,
    "function_call_output": Handling.TOLD,
    "mcp_approval_request": Handling.TOLD,
    "mcp_approval_response": Handling.TAKEN,
    "item_reference": Handling.TAKEN,
    "reasoning": Handling.IGNORED,
}
PART_HANDLING: dict[str, Handling] = {
    "input_text": Handling.TOLD,
    "output_text": Handling.TOLD,
    "text": Handling.TOLD,
    "refusal": Handling.TOLD,
    "input_image": Handling.TOLD,
    "input_file": Handling.TOLD,
}
_WORDS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_FILES = {
    "input_image": ("image_url", "detail"),
    "input_file": ("filename", "file_url", "file_data"),
}
_CALL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def read_items(given: object) -> list[Json]:
    """Return the items of ``input`` as they are stored. Raises ResponsesProblem."""
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
    kind = item.get("type") or ("message" if "role" in item else "item_reference")
    if not isinstance(kind, str):
        raise invalid("An item's type must be a text.", "input")
    reader = _READERS.get(kind)
    if reader is None:
        raise unsupported(f"Items of the type {kind[:MAX_ID]} are not taken here.", "input")
    read: Json = reader(item)
    return read


def _message(item: Json) -> Json:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        raise invalid(f"A message's role must be one of {', '.join(ROLES)}.", "input")
    if isinstance(content, str):
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return input_message(role, _parts(content, "A message's content"))


def _parts(content: object, what: str) -> list[Json]:
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise invalid(f"{what} must be a text or a list of parts.", "input")
    for part in content:
        _check_part(part)
    return content


def _check_part(part: Json) -> None:
    kind = part.get("type")
    if kind in _WORDS:
        if not isinstance(part.get(_WORDS[kind]), str):
            raise invalid(f"A part of the type {kind} must have its text.", "input")
        return
    if kind not in _FILES:
        raise unsupported(f"Parts of the type {str(kind)[:MAX_ID]} are not taken here.", "input")
    if part.get("file_id") is not None:
        raise unsupported("There are no uploaded files here. Send the file itself.", "input")
    given = [part[name] for name in _FILES[kind] if part.get(name) is not None]
    if not given or not all(isinstance(value, str) for value in given):
        raise invalid(f"A part of the type {kind} must have an address or data.", "input")


def _function_call(item: Json) -> Json:
    name, arguments = item.get("name"), item.get("arguments")
    call_id = _call_id(item)
    if not isinstance(name, str) or not _CALL_NAME.fullmatch(name):
        raise invalid("A function call must have a name.", "input")
    if not isinstance(arguments, str):
        raise invalid("A function call's arguments must be a text.", "input")
    call = {"type": "function_call", "id": new_id("fc"), "call_id": call_id, "name": name}
    return {**call, "arguments": arguments, "status": "completed"}


def _call_id(item: Json) -> str:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= MAX_CALL_ID:
        raise invalid(f"A call_id must have 1 to {MAX_CALL_ID} characters.", "input")
    return call_id


def _function_call_output(item: Json) -> Json:
    call_id, output = _call_id(item), item.get("output")
    if not isinstance(output, str):
        output = _parts(output, "A function call's output")
    return function_call_output(call_id, output)


def _approval_request(item: Json) -> Json:
    named = {name: item.get(name) for name in ("server_label", "name", "arguments")}
    if not all(isinstance(value, str) for value in named.values()):
        raise invalid("An approval request must have a server_label, name and arguments.", "input")
    return {"type": "mcp_approval_request", "id": new_id("mcpr"), **named}


def _approval_response(item: Json) -> Json:
    request, approve, reason = (
        item.get(name) for name in ("approval_request_id", "approve", "reason")
    )
    if not isinstance(request, str) or not 1 <= len(request) <= MAX_ID:
        raise invalid("An approval must have its approval_request_id.", "input")
    if not isinstance(approve, bool) or not isinstance(reason, str | None):
        raise invalid("approve must be true or false, and reason a text.", "input")
    answer = {"approval_request_id": request, "approve": approve, "reason": reason}
    return {"type": "mcp_approval_response", "id": new_id("mcpa"), **answer}


def _reference(item: Json) -> Json:
    """Return a reference as it was sent: references.py replaces it by what it names."""
    name = item.get("id")
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_ID:
        raise invalid("A reference must have the id of an item.", "input")
    return {"type": "item_reference", "id": name}


def _reasoning(_: Json) -> Json:
    """Return an empty item: reasoning that a caller sends back is not told to an agent."""
    return {"type": "reasoning", "id": new_id("rs"), "summary": []}


_READERS: dict[str, Any] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _function_call_output,
    "mcp_approval_request": _approval_request,
    "mcp_approval_response": _approval_response,
    "item_reference": _reference,
    "reasoning": _reasoning,
}


def text_of(content: Iterable[Json]) -> str:
    """Return the text of a message's or a result's parts."""
    texts = (part.get(_WORDS[part["type"]]) for part in content if part.get("type") in _WORDS)
    return "\n".join(text for text in texts if isinstance(text, str))


def files_of(content: Iterable[Json]) -> list[Json]:
    """Return the parts that are images and files."""
    return [part for part in content if part.get("type") in _FILES]


def told(item: Json) -> tuple[str, str] | None:
    """Return what kind of item this is and its text, as the agent is told; None if it is not told.

    The first word is one of ours. Whatever a caller chose is in the text, which is quoted later.
    """
    kind = item["type"]
    if kind == "message":
        files = [compact_json(part) for part in files_of(item["content"])]
        return item["role"], "\n".join(filter(None, [text_of(item["content"]), *files]))
    if kind == "function_call_output":
        output = item["output"]
        words = output if isinstance(output, str) else compact_json(output)
        return kind, f"{item['call_id']}: {words}"
    if kind == "function_call":
        return kind, f"{item['call_id']}: {item['name']} {item['arguments']}"
    if kind == "mcp_approval_request":
        return kind, f"{item['name']} {item['arguments']}"
    return None
