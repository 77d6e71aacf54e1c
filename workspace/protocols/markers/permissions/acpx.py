"""Reading what acpx prints with ``--format json --json-strict`` (acpx 0.19): one JSON-RPC frame of
the Agent Client Protocol a line, from both directions.

A turn is complete when the request ``session/prompt`` has its result with a ``stopReason``; the
exit code says nothing (acpx exits 5 after a complete turn whose permissions were all refused).
Markers are read from the agent's message chunks alone, never from its thoughts; errors from error
frames alone. acpx answers an escalated permission at once with its refusal: that becomes an
approval, bound to the tool and its input, for the next turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agents.running.runtime import Said, Step, Usage
from agents.text import json_input
from workspace.protocols.markers.lines import LineFeed, drop_nul

MAX_FRAME = 8 * 1024 * 1024
MAX_DETAIL = 2_000

Told = Said | Step
Frame = dict[str, Any]


@dataclass(frozen=True)
class Escalation:
    """A permission that was refused because a person has to give it."""

    tool: str
    title: str
    input: Any


class Frames:
    """Reads the frames of one turn. Feed it what acpx prints, then look at what is known."""

    def __init__(self) -> None:
        self._lines = LineFeed(MAX_FRAME)
        self._prompt: object = None
        self._asked_by_agent: dict[str, Frame] = {}
        self._titles: dict[str, str] = {}
        self._break_before_text = False
        self._usage: dict[str, Any] = {}
        self._escalations: dict[str, Escalation] = {}
        self.stop_reason = ""
        self.errors: list[str] = []
        self.unreadable = 0

    @property
    def complete(self) -> bool:
        """Whether the agent came to the end of its turn by itself."""
        return self.stop_reason not in ("", "cancelled")

    @property
    def escalations(self) -> tuple[Escalation, ...]:
        """Each refused permission once, however often the agent tried."""
        return tuple(self._escalations.values())

    @property
    def usage(self) -> Usage | None:
        """The last that was said about tokens and cost."""
        return Usage(self._usage) if self._usage else None

    def feed(self, chunk: str) -> list[Told]:
        return [told for line in self._lines.feed(chunk) for told in self._line(line)]

    def finish(self) -> list[Told]:
        return [told for line in self._lines.rest() for told in self._line(line)]

    # Frame by frame.

    def _line(self, line: str) -> list[Told]:
        if not line.strip():
            return []
        try:
            frame = json_input.read_json(line)
            return self._request(frame) if "method" in frame else self._response(frame)
        except (ValueError, TypeError, AttributeError):
            # A banner, a cut line, something nested beyond reason: acpx goes on, so do we.
            self.unreadable += 1
            return []

    def _request(self, frame: Frame) -> list[Told]:
        method, params = frame["method"], _dict(frame.get("params"))
        if method == "session/prompt":
            self._prompt = frame.get("id")
            self.stop_reason = ""
        elif method == "session/update" and self._prompt is not None:
            # Before the prompt these are an earlier turn, played again by a loaded session.
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
        # Both sides number their requests, so the agent's may have the number of the prompt.
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
            return [self._step(update)]
        if kind == "usage_update":
            self._usage |= {key: update[key] for key in ("used", "size", "cost") if key in update}
        self._break_before_text |= kind == "agent_thought_chunk"
        return []

    def _text(self, content: Frame) -> list[Told]:
        text = content.get("text")
        if content.get("type") != "text" or not isinstance(text, str) or not text:
            return []
        # After a tool or a thought a new message starts, on a line of its own.
        start = "\n" if self._break_before_text else ""
        self._break_before_text = False
        return [Said(drop_nul(start + text))]

    def _step(self, call: Frame, status: str = "") -> Step:
        key = _text_of(call.get("toolCallId"))
        title = _text_of(call.get("title")) or self._titles.get(key, "")
        self._titles[key] = title
        return Step(key, title, status or _text_of(call.get("status")), _detail(call))

    def _answered(self, asked: Frame, result: Frame) -> list[Told]:
        """What acpx answered to the agent's request for a permission."""
        call = _dict(asked.get("toolCall"))
        if not call:
            return []
        meta = _dict(_dict(result.get("_meta")).get("acpx"))
        if escalated := _dict(meta.get("permissionEscalation")):
            self._escalate(escalated)
            return [self._step(call, "waits for approval")]
        return [self._step(call, "refused")] if _refused(asked, result) else []

    def _escalate(self, escalated: Frame) -> None:
        title = _text_of(escalated.get("toolTitle"))
        tool = _text_of(escalated.get("toolName") or escalated.get("toolKind")) or title or "tool"
        escalation = Escalation(tool, title, escalated.get("toolInput"))
        self._escalations.setdefault(
            json.dumps([tool, escalation.input], sort_keys=True), escalation
        )


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
    """An error in words: its message and what its data adds; no ids, they may look like codes."""
    data = error.get("data")
    more = data.get("details") or data.get("message") if isinstance(data, dict) else data
    status = _dict(data).get("status", _dict(data).get("code", ""))
    parts = [error.get("message"), more, status, *([error["code"]] if _http(error) else [])]
    return ": ".join(dict.fromkeys(_text_of(part) for part in parts if part))


def _http(error: Frame) -> bool:
    return isinstance(error.get("code"), int) and 400 <= error["code"] < 600


def _detail(call: Frame) -> str:
    """The tool's input in a line: its command if it has one."""
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
