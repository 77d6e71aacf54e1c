"""The fields of a request: which are taken, told to the agent, ignored and refused.

``HANDLING`` is the contract, and the table in docs/responses.md repeats it. What would change the
meaning of a request is told or refused, never dropped. What is ignored is listed in the envelope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from workspace.protocols.responses.errors import ResponsesProblem, invalid
from workspace.protocols.responses.wire import OUR_LABEL, Json

MAX_METADATA, MAX_METADATA_KEY, MAX_METADATA_VALUE = 16, 64, 512
MAX_TOOLS = 500
MAX_NAMED = 200
#: The pairs of metadata that the server adds to a response.
RESERVED = ("envelope_status", "hitl_paused")
_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Handling(StrEnum):
    """What becomes of a part of a request."""

    TAKEN = "taken"
    TOLD = "told to the agent"
    IGNORED = "ignored"
    REFUSED = "refused"


_TAKEN = (
    "background",
    "metadata",
    "model",
    "previous_response_id",
    "store",
    "stream",
    "text",
    "tool_choice",
    "tools",
    "truncation",
    "user",
)
_TOLD = ("input", "instructions")
_IGNORED = (
    "frequency_penalty",
    "include",
    "max_output_tokens",
    "max_tool_calls",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "stream_options",
    "temperature",
    "top_logprobs",
    "top_p",
)
_REFUSED = ("context_management", "conversation", "prompt")

HANDLING: dict[str, Handling] = {
    **dict.fromkeys(_TAKEN, Handling.TAKEN),
    **dict.fromkeys(_TOLD, Handling.TOLD),
    **dict.fromkeys(_IGNORED, Handling.IGNORED),
    **dict.fromkeys(_REFUSED, Handling.REFUSED),
}
_WHY_REFUSED = {
    "context_management": "An agent manages its own context here.",
    "conversation": "Conversations are continued by previous_response_id here.",
    "prompt": "There are no stored prompts here. Send input.",
}


def unsupported(message: str, param: str) -> ResponsesProblem:
    return invalid(message, param, "unsupported_parameter")


def check_supported(body: Json) -> None:
    """Raise ResponsesProblem for what would promise more than an agent here keeps."""
    for name in _REFUSED:
        if body.get(name) is not None:
            raise unsupported(_WHY_REFUSED[name], name)
    if body.get("store") is False:
        raise unsupported("Responses are always stored here.", "store")
    if body.get("truncation") not in (None, "auto"):
        why = "Long conversations are shortened for the agent. truncation must be auto."
        raise unsupported(why, "truncation")
    _check_text(body.get("text"))
    if body.get("tool_choice") not in (None, "auto", "none"):
        why = "An agent here calls no functions of its caller. tool_choice must be auto or none."
        raise unsupported(why, "tool_choice")


def _check_text(text: object) -> None:
    if text is None:
        return
    wanted = text.get("format") if isinstance(text, dict) else text
    if wanted is not None and wanted != {"type": "text"}:
        why = "An agent here answers in plain text. Ask for another form in instructions."
        raise unsupported(why, "text.format")


def ignored_fields(body: Json) -> list[str]:
    """Return the names of the fields that have no effect, sorted, each shortened."""
    names = (
        name
        for name, value in body.items()
        if value is not None and HANDLING.get(name, Handling.IGNORED) == Handling.IGNORED
    )
    verbosity = ["text.verbosity"] if (body.get("text") or {}).get("verbosity") else []
    return sorted([*(name[:MAX_NAMED] for name in names), *verbosity])[:MAX_NAMED]


def echoed(body: Json) -> Json:
    """Return the fields that the response repeats. Raises ResponsesProblem."""
    return {
        "metadata": _metadata(body.get("metadata")),
        "tools": list(_tools(body.get("tools"))),
        "tool_choice": body.get("tool_choice") or "auto",
        "user": _words(body, "user"),
        "instructions": _words(body, "instructions"),
    }


def _words(body: Json, name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid(f"{name} must be a text.", name)
    return value


def _metadata(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_METADATA:
        raise invalid(f"metadata must be an object of at most {MAX_METADATA} pairs.", "metadata")
    for name, text in value.items():
        if name in RESERVED:
            raise invalid(f"The server itself sets {name} in metadata.", "metadata")
        if (
            len(name) > MAX_METADATA_KEY
            or not isinstance(text, str)
            or len(text) > MAX_METADATA_VALUE
        ):
            why = f"at most {MAX_METADATA_KEY} characters in a name, and {MAX_METADATA_VALUE} in a value"
            raise invalid(f"metadata may have {why}.", "metadata")
    return value


def _tools(tools: object) -> Iterator[Json]:
    if tools is None:
        return
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise invalid("tools must be a list of objects.", "tools")
    if len(tools) > MAX_TOOLS:
        raise invalid(f"There may be at most {MAX_TOOLS} tools.", "tools")
    for tool in tools:
        kind = tool.get("type")
        if kind == "function":
            yield _function(tool)
        elif kind == "mcp" and tool.get("server_label") == OUR_LABEL:
            yield {"type": "mcp", "server_label": OUR_LABEL, "require_approval": "always"}
        else:
            why = f"Only functions are taken, and an MCP tool with the label {OUR_LABEL}."
            raise unsupported(why, "tools")


def _function(tool: Json) -> Json:
    """Return a function with every field of the schema: a caller may leave out all but its name."""
    function = {name: tool.get(name) for name in ("name", "description", "parameters", "strict")}
    name, description, parameters, strict = function.values()
    well_formed = (
        isinstance(name, str)
        and _FUNCTION_NAME.fullmatch(name)
        and isinstance(description, str | None)
        and isinstance(parameters, dict | None)
        and isinstance(strict, bool | None)
    )
    if not well_formed:
        raise invalid("A function must have a name, and its other fields their types.", "tools")
    return {"type": "function", **function}
