"""Read the output of ``acpx --format json --json-strict`` (acpx 0.19).

Each line is one JSON-RPC frame of the Agent Client Protocol, in either direction. A turn is complete
when the request ``session/prompt`` has a result with a ``stopReason``. The exit code is not used:
acpx exits with 5 after a complete turn whose permissions were all refused. Markers are read only
from the agent's message chunks, never from its thoughts, and errors only from error frames. acpx
refuses an escalated permission immediately; the refusal becomes an ask for approval, bound to the
kind of the call and its raw input, for the next turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agents.running.runtime import Said, Step, Usage
from agents.text import json_input
from workspace.protocols.markers.lines import LineFeed, drop_nul
from workspace.protocols.markers.permissions.approved_tools import KnownCalls, operation_of

MAX_FRAME = 8 * 1024 * 1024
MAX_DETAIL = 2_000

Told = Said | Step
Frame = dict[str, Any]


@dataclass(frozen=True)
class Escalation:
    """A permission that acpx refused because a person must grant it.

    ``tool`` is the kind of the call, which is the operation of the approval. ``title`` is only shown.
    """

    tool: str
    title: str
    input: Any
    call_id: str = ""


class Frames:
    """Read the frames of one turn: feed the output of acpx, call finish(), then read the attributes."""

    def __init__(self) -> None:
        self._lines = LineFeed(MAX_FRAME)
        self._prompt: object = None
        self._asked_by_agent: dict[str, Frame] = {}
        self._titles: dict[str, str] = {}
        self._calls = KnownCalls()
        self._break_before_text = False
        self._usage: dict[str, Any] = {}
        self._escalations: dict[str, Escalation] = {}
        self.stop_reason = ""
        self.errors: list[str] = []
        self.unreadable = 0

    @property
    def complete(self) -> bool:
        """Return whether the agent ended its turn by itself."""
        return self.stop_reason not in ("", "cancelled")

    @property
    def escalations(self) -> tuple[Escalation, ...]:
        """Return each refused permission once, in the order of the last request for it."""
        return tuple(self._escalations.values())

    @property
    def usage(self) -> Usage | None:
        """Return the latest report of tokens and cost, or None."""
        return Usage(self._usage) if self._usage else None

    def feed(self, chunk: str) -> list[Told]:
        return [event for line in self._lines.feed(chunk) for event in self._line(line)]

    def finish(self) -> list[Told]:
        return [event for line in self._lines.rest() for event in self._line(line)]

    # Frame by frame.

    def _line(self, line: str) -> list[Told]:
        if not line.strip():
            return []
        try:
            frame = json_input.read_json(line)
            return self._request(frame) if "method" in frame else self._response(frame)
        except (ValueError, TypeError, AttributeError):
            # A banner, a truncated line or excessive nesting. acpx continues after these, and so do we.
            self.unreadable += 1
            return []

    def _request(self, frame: Frame) -> list[Told]:
        method, params = frame["method"], _dict(frame.get("params"))
        if method == "session/prompt":
            self._prompt = frame.get("id")
            self.stop_reason = ""
        elif method == "session/update" and self._prompt is not None:
            # Updates before the prompt replay an earlier turn of a loaded session; they are skipped.
            return self._update(_dict(params.get("update")))
        elif frame.get("id") is not None and self._prompt is not None:
            self._asked_by_agent[_id(frame)] = params
            self._break_before_text = True
        return []

    def _response(self, frame: Frame) -> list[Told]:
        result = _dict(frame.get("result"))
        if "stopReason" in result and self._is_prompt(frame):
            self.stop_reason = str(result["stopReason"]) or "end_turn"
            self._usage |= _dict(result.get("usage"))
            return []
        asked = self._asked_by_agent.pop(_id(frame), None)
        # Both sides number their requests, so an agent's request may share its id with the prompt.
        if error := _dict(frame.get("error")) if asked is None or self._is_prompt(frame) else {}:
            self.errors.append(_words(error))
        return self._answered(asked, result) if asked and result else []

    def _is_prompt(self, frame: Frame) -> bool:
        return self._prompt is not None and frame.get("id") == self._prompt

    def _update(self, update: Frame) -> list[Told]:
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            return self._text(_dict(update.get("content")))
        if kind in ("tool_call", "tool_call_update"):
            self._break_before_text |= kind == "tool_call"
            self._calls.complete(update)
            return [self._step(update)]
        if kind == "usage_update":
            self._usage |= {key: update[key] for key in ("used", "size", "cost") if key in update}
        self._break_before_text |= kind == "agent_thought_chunk"
        return []

    def _text(self, content: Frame) -> list[Told]:
        text = content.get("text")
        if content.get("type") != "text" or not isinstance(text, str) or not text:
            return []
        # A new message starts after a tool call or a thought, so it gets a new line.
        start = "\n" if self._break_before_text else ""
        self._break_before_text = False
        return [Said(drop_nul(start + text))]

    def _step(self, call: Frame, status: str = "") -> Step:
        key = _text_of(call.get("toolCallId"))
        title = _text_of(call.get("title")) or self._titles.get(key, "")
        self._titles[key] = title
        return Step(key, title, status or _text_of(call.get("status")), _detail(call))

    def _answered(self, asked: Frame, result: Frame) -> list[Told]:
        """Report acpx's answer to a permission request of the agent."""
        call = _dict(asked.get("toolCall"))
        if not call:
            return []
        meta = _dict(_dict(result.get("_meta")).get("acpx"))
        if escalated := _dict(meta.get("permissionEscalation")):
            self._escalate(self._calls.complete(call), escalated)
            return [self._step(call, "waits for approval")]
        return [self._step(call, "refused")] if _refused(asked, result) else []

    def _escalate(self, call: Frame, escalated: Frame) -> None:
        given = call.get("rawInput")
        given = escalated.get("toolInput") if given is None else given
        call = {"kind": escalated.get("toolKind"), **call}
        title = _text_of(call.get("title")) or _text_of(escalated.get("toolTitle"))
        escalation = Escalation(operation_of(call), title, given, _text_of(call.get("toolCallId")))
        key = json.dumps([escalation.tool, given], sort_keys=True)
        self._escalations.pop(key, None)
        self._escalations[key] = escalation


def _refused(asked: Frame, result: Frame) -> bool:
    outcome = _dict(result.get("outcome"))
    options = asked.get("options")
    kinds = {
        option.get("optionId"): str(option.get("kind"))
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, dict)
    }
    return not kinds.get(outcome.get("optionId"), "reject").startswith("allow")


def _words(error: Frame) -> str:
    """Return an error as text: message, details, HTTP status. Ids are omitted: they can look like one."""
    data = error.get("data")
    more = data.get("details") or data.get("message") if isinstance(data, dict) else data
    status = _dict(data).get("status", _dict(data).get("code", ""))
    parts = [error.get("message"), more, status, *([error["code"]] if _http(error) else [])]
    return ": ".join(dict.fromkeys(_text_of(part) for part in parts if part))


def _http(error: Frame) -> bool:
    return isinstance(error.get("code"), int) and 400 <= error["code"] < 600


def _detail(call: Frame) -> str:
    """Return the tool's input in one line: its command if there is one, else JSON."""
    given = call.get("rawInput")
    if given is None:
        return ""
    command = _dict(given).get("command")
    return _text_of(command if isinstance(command, str) else given)[:MAX_DETAIL]


def _text_of(value: object) -> str:
    if value is None:
        return ""
    return drop_nul(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _dict(value: object) -> Frame:
    return value if isinstance(value, dict) else {}


def _id(frame: Frame) -> str:
    return json.dumps(frame.get("id"))
