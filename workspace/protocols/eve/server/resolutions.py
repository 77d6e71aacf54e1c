"""Word the outcome of a request as the protocol does."""

from __future__ import annotations

import json
from dataclasses import dataclass

from workspace.protocols.eve.server.log_events import Decided, Json, LoggedRequest

DENIED = "TOOL_EXECUTION_DENIED"
WAS_DENIED = "Tool execution was denied."
WAS_IGNORED = "Ignored because the user continued without responding."


@dataclass(frozen=True)
class Resolution:
    """The outcome of a request, held until every request of its pause is settled."""

    request: LoggedRequest
    outcome: str
    response: Json | None = None
    note: str = ""
    told: bool = False

    def resolution(self) -> Json:
        said: Json = {
            "requestId": self.request.request_id,
            "kind": self.request.kind,
            "outcome": self.outcome,
        }
        return said | ({"response": self.response} if self.response else {})


def response_of(request: LoggedRequest, decided: Decided) -> Json:
    said: Json = {"requestId": request.request_id}
    if decided.option:
        said["optionId"] = decided.option
    if decided.text:
        said["text"] = decided.text
    return said


def rejected(settled: Resolution) -> Json:
    """Return the result of a call that will not run because its approval was denied or ignored."""
    action, why = settled.request.wire["action"], _why(settled)
    output = {
        "approval": {"requestId": settled.request.request_id, "status": settled.outcome},
        "code": DENIED,
        "message": why,
        "tool": {"result": "not_run"},
    }
    result = {
        "kind": "tool-result",
        "callId": action["callId"],
        "toolName": action["toolName"],
        "output": output,
        "isError": True,
    }
    return {"status": "rejected", "result": result, "error": {"code": DENIED, "message": why}}


def _why(settled: Resolution) -> str:
    if settled.outcome != "denied":
        return WAS_IGNORED
    if not settled.note:
        return WAS_DENIED
    quoted = json.dumps(settled.note, ensure_ascii=False)
    return f"{WAS_DENIED} The person who denied it wrote: {quoted}"
