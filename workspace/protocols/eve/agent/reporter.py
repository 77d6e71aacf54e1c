"""Report the events of a turn: eve's for its endpoint, and the workspace's own for the pages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from agents.running.runtime import Noted, Said, Step, TurnEvent
from agents.text.storable import make_storable

LONGEST_DETAIL = 2000
#: Minimum seconds between two pieces of a message.
EVERY = 0.1
Emit = Callable[[TurnEvent], None]


class Reporter:
    """Report the steps of one turn, numbered from 0.

    A step is one request to the model and the tools it runs.
    """

    def __init__(self, emit: Emit, *, prefix: str, model_id: str) -> None:
        self._emit, self._prefix, self._model_id = emit, prefix, model_id
        self.step = -1
        self._is_open = False
        self._said = ""
        self._thought = ""
        self._piece = ""
        self._next_piece = 0.0

    def begin_step(self) -> None:
        """Begin the next step, unless one is open."""
        if not self._is_open:
            self.step += 1
            self._is_open, self._said, self._thought, self._next_piece = True, "", "", 0.0
            self._note("step.started", modelId=self._model_id)

    def says(self, text: str) -> None:
        """Report a piece of the model's text. Pieces in quick succession are reported together."""
        self._said += make_storable(text)
        self._piece += make_storable(text)
        if self._piece and time.monotonic() >= self._next_piece:
            self._emit_piece()

    def _emit_piece(self) -> None:
        if self._piece:
            self._note("message.appended", messageDelta=self._piece)
        self._piece, self._next_piece = "", time.monotonic() + EVERY

    def thinks(self, text: str) -> None:
        """Report a piece of the model's reasoning, if it shows any."""
        if text := make_storable(text):
            self._thought += text
            self._note("reasoning.appended", reasoningDelta=text)

    def completed(self, finish_reason: str) -> None:
        """Report that the model's response of this step is complete."""
        self._emit_piece()
        if self._thought:
            self._note("reasoning.completed", reasoning=self._thought)
        self._note("message.completed", message=self._said or None, finishReason=finish_reason)
        if self._said and finish_reason == "tool-calls":
            self._emit(Said(self._said + "\n"))

    def end_step(self, finish_reason: str, usage: dict[str, int]) -> None:
        if self._is_open:
            self._is_open = False
            self._note("step.completed", finishReason=finish_reason, usage=usage)

    def broke(self, code: str, message: str) -> None:
        """Report that the open step failed."""
        self._emit_piece()
        if self._is_open:
            self._is_open = False
            self._note("step.failed", code=code, message=make_storable(message)[:LONGEST_DETAIL])

    def requested(self, call_id: str, tool: str, given: Any) -> None:
        """Report a call that is about to run without approval."""
        action = {"kind": "tool-call", "callId": call_id, "toolName": tool, "input": given}
        self._note("actions.requested", actions=[action])

    def runs(self, call_id: str, tool: str, given: Any) -> None:
        self._emit(Step(self._prefix + call_id, tool, "", _shown(given)))

    def result(self, call_id: str, tool: str, output: Any, *, failed: bool = False) -> None:
        """Report the result of a call that ran."""
        status = "failed" if failed else "completed"
        result: dict[str, Any] = {
            "kind": "tool-result",
            "callId": call_id,
            "toolName": tool,
            "output": output,
        }
        data: dict[str, Any] = {"status": status, "result": result}
        if failed:
            result["isError"] = True
            data["error"] = {"code": "TOOL_EXECUTION_FAILED", "message": str(output)}
        self._note("action.result", **data)
        self._emit(Step(self._prefix + call_id, tool, status, _shown(output)))

    def _note(self, kind: str, **data: Any) -> None:
        self._emit(
            Noted(
                "eve",
                {"type": kind, "data": {"stepIndex": max(self.step, 0), **make_storable(data)}},
            )
        )


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return make_storable(text)[:LONGEST_DETAIL]
