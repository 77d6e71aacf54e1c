"""What the protocol's objects look like on the wire: a response, its items, its envelope.

Fields and their order are those that the strict readers of the protocol ask for; ``envelope`` is
ours, and every reader of the protocol keeps what it does not know.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from workspace.protocols.responses.server.ids import new_id

REQUEST_INFO = "request_info"
"""A function call of this name is a question, whatever its call_id is."""

Json = dict[str, Any]


def compact_json(value: object) -> str:
    """JSON on one line of ASCII, so that no reader of a stream sees a line end in it."""
    return json.dumps(value, separators=(",", ":"))


def response_object(
    *,
    public_id: str,
    created_at: int,
    model: str,
    status: str,
    background: bool,
    stored: bool,
    previous: str | None,
    said: Json,
) -> Json:
    """A response without output. ``said`` is what the caller sent of the fields that are echoed."""
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
        "store": stored,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": said.get("tools") or [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "truncation": "disabled",
        "usage": None,
        "user": said.get("user"),
        "metadata": said.get("metadata") or {},
    }


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
    """A message of the agent; without text its content has not begun."""
    found: Json = {
        "type": "message",
        "id": item_id,
        "role": "assistant",
        "status": status,
        "content": [] if text is None else [output_text(text)],
    }
    return found | {"phase": phase} if phase else found


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
    """The arguments of a ``request_info`` item, decoded. A confidential one carries no request."""
    found: Json = {
        "request_id": request_id,
        "request_event": {"type": REQUEST_INFO, "data": {"question": question}},
    }
    if options:
        found["options"] = options
    if not confidential:
        found |= {"request": request, "resume_state": request}
        if essentials:
            found["essentials"] = essentials
    return found


def envelope(
    status: str, *, paused: bool, cost: Decimal | None, chain_cost: Decimal, turns: int
) -> Json:
    """How the run stands in the shell's words: ok, awaiting_human, failed or cancelled."""
    return {
        "status": status,
        "output": {"hitl_paused": paused},
        "cost_usd": float(cost or 0),
        "chain": {"turns": turns, "cost_usd": float(chain_cost)},
    }


def usage(reported: Json) -> Json | None:
    """The protocol's usage of what a brain reported; None when it told no tokens."""
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
    found = reported.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


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
