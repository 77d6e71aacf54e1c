"""Show the question of a paused response to its caller, in one of three shapes.

A question is a function call ``request_info``, an approval a function call ``request_approval`` with
its binding. A caller that declares our MCP tool gets an approval in the shape of that protocol. After
``tool_choice: "none"`` no call may follow, so the question is a message; the envelope names its id.
"""

from __future__ import annotations

import hashlib

from asks.actions import binding, editing
from asks.drafts import request_keys
from asks.lifecycle import CONFIDENTIAL, AskStatus
from asks.models import Ask, Gate
from workspace.protocols.responses import wire
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server.events import ResponseStream
from workspace.protocols.responses.server.ids import bound_item_id
from workspace.protocols.responses.wire import (
    REQUEST_APPROVAL,
    REQUEST_INFO,
    Json,
    compact_json,
)


def show_question(stream: ResponseStream, ask: Ask) -> None:
    """Append a question to the stream of the response that asks it."""
    response, gate = stream.response, binding.gate_of(ask)
    if is_hidden(ask):
        _show_hidden(stream, ask)
    elif gate is not None and any(tool["type"] == "mcp" for tool in response.body["tools"]):
        name = approval_id(gate, response.public_id)
        stream.approval_request(name, gate.operation, compact_json(_params(gate)))
    elif response.body.get("tool_choice") == "none":
        stream.whole_message(_as_text(ask))
    else:
        name = REQUEST_INFO if gate is None else REQUEST_APPROVAL
        stream.call(name, ask.request_key, compact_json(_arguments(response, ask, gate)))


def is_hidden(ask: Ask) -> bool:
    """Return whether a question may be read by fewer people than the responses of its agent.

    Every owner's key reads those, and so does the key of the program that asked.
    """
    return ask.confidential and ask.answered_by_id is not None


def _show_hidden(stream: ResponseStream, ask: Ask) -> None:
    """Show that there is a question, and its id. It is answered on the page."""
    if stream.response.body.get("tool_choice") == "none":
        stream.whole_message(CONFIDENTIAL)
        return
    event = {"type": REQUEST_INFO, "data": {"question": CONFIDENTIAL}}
    arguments = {"request_id": ask.request_key, "request_event": event}
    name = REQUEST_INFO if binding.gate_of(ask) is None else REQUEST_APPROVAL
    stream.call(name, ask.request_key, compact_json(arguments))


def status_of(ask: Ask) -> str:
    """Return the status of a question. An answer that can still be taken back is none yet."""
    is_held = ask.status == AskStatus.ANSWERED and ask.decision.is_held
    return AskStatus.OPEN if is_held else AskStatus(ask.status)


def approval_id(gate: Gate, public_id: str) -> str:
    """Return the id of an approval: another one for each ask, action and version of the policy.

    It begins like the id of its response, which asked it.
    """
    bound = f"{gate.ask_id}|{gate.action_hash}|{gate.policy_version}"
    return bound_item_id("mcpr", public_id, hashlib.sha256(bound.encode()).hexdigest())


def named_question(ask: Ask, public_id: str) -> Json:
    """Return the names of a question on the wire, its status, and the binding to answer with."""
    named = {"call_id": request_keys.root_of(ask.request_key), "status": status_of(ask)}
    gate = binding.gate_of(ask)
    if gate is None or is_hidden(ask):
        return named
    bound = binding.shown_binding(gate).as_echo()
    return named | {"approval_request_id": approval_id(gate, public_id), "binding": bound}


def _params(gate: Gate) -> object:
    return editing.asked_params(gate)


def _arguments(response: Response, ask: Ask, gate: Gate | None) -> Json:
    arguments = wire.question_arguments(
        request_id=ask.request_key,
        question=ask.prompt,
        options=[option.label for option in ask.options.all()],
        request=response.request,
        essentials=response.kept,
        confidential=response.confidential,
    )
    if gate is None:
        return arguments
    action = {"operation": gate.operation, "params": _params(gate)}
    return arguments | {"action": action, "binding": binding.shown_binding(gate).as_echo()}


def _as_text(ask: Ask) -> str:
    options = "".join(f"\n- {option.label}" for option in ask.options.all())
    return f"This waits for a person: {ask.prompt}{options}"
