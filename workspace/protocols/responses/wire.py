"""The protocol's objects on the wire: a response, its items, its envelope.

Strict clients need exactly these fields in this order. ``envelope`` is ours: clients of the protocol
keep fields that they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from workspace.protocols.responses.server.ids import new_id

REQUEST_INFO = "request_info"
"""A function call of this name is a question, whatever its call_id is."""
REQUEST_APPROVAL = "request_approval"
"""A function call of this name asks whether an action may run."""
OUR_LABEL = "needs-you"
"""An MCP tool with this label asks for approvals in the shape of that protocol."""
QUESTIONS = (REQUEST_INFO, REQUEST_APPROVAL)

Json = dict[str, Any]


def compact_json(value: object) -> str:
    """Return compact JSON in ASCII: no client of a stream can find a line end in it."""
    return json.dumps(value, separators=(",", ":"))


def response_object(
    *,
    public_id: str,
    created_at: int,
    model: str,
    status: str,
    background: bool,
    previous: str | None,
    said: Json,
    ignored: Sequence[str] = (),
) -> Json:
    """Return a response without output.

    ``said`` are the caller's fields that are repeated, and ``ignored`` names those without effect.
    """
    return {
        "id": public_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "status": status,
        "background": background,
        "error": None,
        "incomplete_details": None,
        "instructions": said.get("instructions"),
        "max_output_tokens": None,
        "max_tool_calls": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": previous,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": said.get("tool_choice") or "auto",
        "tools": said.get("tools") or [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "truncation": "auto",
        "usage": None,
        "user": said.get("user"),
        "metadata": said.get("metadata") or {},
        "envelope": {"status": "running", "ignored": list(ignored)},
    }


def said_in(body: Json) -> Json:
    """Return the caller's fields that a response repeats, without its metadata."""
    return {name: body.get(name) for name in ("tools", "tool_choice", "user", "instructions")}


def function_call(item_id: str, *, name: str, call_id: str, arguments: str, status: str) -> Json:
    return {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


def message(item_id: str, *, text: str | None, status: str, phase: str = "") -> Json:
    """Return a message of the agent. Without text its content has not begun."""
    item: Json = {
        "type": "message",
        "id": item_id,
        "role": "assistant",
        "status": status,
        "content": [] if text is None else [output_text(text)],
    }
    return item | {"phase": phase} if phase else item


def approval_request(item_id: str, *, name: str, arguments: str) -> Json:
    return {
        "type": "mcp_approval_request",
        "id": item_id,
        "server_label": OUR_LABEL,
        "name": name,
        "arguments": arguments,
    }


def reasoning(item_id: str, *, text: str | None, status: str) -> Json:
    """Return a summary of the agent's reasoning. Without text it has not begun."""
    summary = [] if text is None else [summary_text(text)]
    return {"type": "reasoning", "id": item_id, "summary": summary, "status": status}


def summary_text(text: str) -> Json:
    return {"type": "summary_text", "text": text}


def output_text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def question_arguments(
    *,
    request_id: str,
    question: str,
    options: list[str],
    request: Json | None,
    essentials: Json | None,
    confidential: bool,
) -> Json:
    """Return the arguments of a ``request_info`` item. A confidential one carries no request."""
    arguments: Json = {
        "request_id": request_id,
        "request_event": {"type": REQUEST_INFO, "data": {"question": question}},
    }
    if options:
        arguments["options"] = options
    if not confidential:
        arguments |= {"request": request, "resume_state": request}
        if essentials:
            arguments["essentials"] = essentials
    return arguments


def envelope(
    status: str,
    *,
    paused: bool,
    cost: Decimal | None,
    chain_cost: Decimal,
    turns: int,
    ignored: Sequence[str],
) -> Json:
    """Return the envelope. ``status`` is ok, awaiting_human, failed or cancelled."""
    return {
        "status": status,
        "ignored": list(ignored),
        "output": {"hitl_paused": paused},
        "cost_usd": float(cost or 0),
        "chain": {"turns": turns, "cost_usd": float(chain_cost)},
    }


def usage(reported: Json) -> Json | None:
    """Return the protocol's usage from a brain's report; None if it reported no tokens."""
    inputs, outputs = _tokens(reported, "input_tokens"), _tokens(reported, "output_tokens")
    if not inputs and not outputs:
        return None
    return {
        "input_tokens": inputs,
        "input_tokens_details": {
            "cached_tokens": _tokens(reported, "cache_read_input_tokens"),
            "cache_write_tokens": _tokens(reported, "cache_creation_input_tokens"),
        },
        "output_tokens": outputs,
        "output_tokens_details": {"reasoning_tokens": _tokens(reported, "reasoning_tokens")},
        "total_tokens": inputs + outputs,
    }


def _tokens(reported: Json, name: str) -> int:
    count = reported.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def input_message(role: str, content: list[Json]) -> Json:
    return {
        "type": "message",
        "id": new_id("msg"),
        "role": role,
        "status": "completed",
        "content": content,
    }


def function_call_output(call_id: str, output: Any) -> Json:
    return {
        "type": "function_call_output",
        "id": new_id("fco"),
        "call_id": call_id,
        "output": output,
        "status": "completed",
    }
