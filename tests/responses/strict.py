"""A reader of the door's wire that forgives nothing, beside the protocol's own published schema.

The schema says which fields there are. The reader says what the schema cannot: the order of events,
their numbers, that each item is begun and finished, and how a stream is framed and ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, get_args

import openresponses_types as schema
from openai.types.responses import Response
from pydantic import BaseModel

Json = dict[str, Any]
TERMINAL = {
    "response.completed": {"completed"},
    "response.failed": {"failed", "cancelled"},
}
_TEXT = "response.output_text"
_SUMMARY, _PART = "response.reasoning_summary_text", "response.reasoning_summary_part"
_CALL, _CONTENT = "response.function_call_arguments", "response.content_part"
#: The events of a finished item, in their order, as a pattern.
_GRAMMAR = {
    "message": (f"{_CONTENT}.added", f"{_TEXT}.delta", f"{_TEXT}.done", f"{_CONTENT}.done"),
    "function_call": (f"{_CALL}.delta", f"{_CALL}.done"),
    "reasoning": (f"{_PART}.added", f"{_SUMMARY}.delta", f"{_SUMMARY}.done", f"{_PART}.done"),
    "mcp_approval_request": (),
}
DONE = "data: [DONE]\n\n"
_FRAME = re.compile(r"event: ([a-z_.]+)\ndata: (\{.*\})")


def _event_models() -> dict[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for name, model in vars(schema).items():
        if name.endswith("StreamingEvent"):
            kind: Any = model.model_fields["type"].annotation
            words = get_args(kind) or list(kind)
            found[str(words[0])] = model
    return found


EVENTS = _event_models()


def has_approvals_of_mcp(response: Json) -> bool:
    """The published schema does not know the tools and items of MCP."""
    return any(tool.get("type") == "mcp" for tool in response["tools"])


def check_response(response: Json) -> Json:
    """The response is true to both schemas."""
    Response.model_validate(response)
    if not has_approvals_of_mcp(response):
        schema.ResponseResource.model_validate(response)
    assert len(response["metadata"]) <= 16
    for item in response["output"]:
        _check_item(item)
    return response


def _check_item(item: Json) -> None:
    assert re.fullmatch(r"[a-z]+_[0-9a-f]{48}", item["id"]), item["id"]
    assert item["type"] in _GRAMMAR, item["type"]
    if item["type"] == "function_call":
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item["name"]), item["name"]
        assert 1 <= len(item["call_id"]) <= 64
        assert isinstance(json.loads(item["arguments"]), dict)


def check_events(events: Sequence[Json], *, whole: bool = True) -> None:
    """The events of a response from its first one on; ``whole`` if it has ended."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created"
    reader = _Reader()
    for event in events:
        reader.hear(event)
    assert reader.is_over == whole, "the stream ends when the response does"


class _Reader:
    """Follows a stream from its first event on."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.item: list[Json] = []
        self.finished: list[Json] = []
        self.name = ""
        self.is_over = False
        self.mcp = False

    def hear(self, event: Json) -> None:
        assert not self.is_over, "an event after the last one"
        assert "error" not in event, "clients stop at an event with an error"
        kind = event["type"]
        if "response" in event:
            self._check_response(kind, event["response"])
        else:
            self._check_part(event)
        if not self.mcp:
            EVENTS[kind].model_validate(event)
        if kind in TERMINAL:
            self._check_end(kind, event["response"])
        self.kinds.append(kind)

    def _check_response(self, kind: str, response: Json) -> None:
        check_response(response)
        self.name = self.name or response["id"]
        assert response["id"] == self.name
        self.mcp = has_approvals_of_mcp(response)
        assert kind not in self.kinds, f"{kind} twice"
        if kind == "response.in_progress":
            assert not self.finished
            assert set(self.kinds) <= {"response.created", "response.queued"}
        assert not self.item, "the response changes inside of an item"

    def _check_part(self, event: Json) -> None:
        kind = event["type"]
        assert "response.in_progress" in self.kinds, "output before the work began"
        assert event["output_index"] == len(self.finished)
        if kind == "response.output_item.added":
            assert not self.item, "an item inside of an item"
            assert event["item"].get("status", "in_progress") == "in_progress"
        else:
            assert self.item, "a part of no item"
        self.item.append(event)
        if "item_id" in event:
            assert event["item_id"] == self.item[0]["item"]["id"]
        if kind == "response.output_item.done":
            self._finish(event["item"])

    def _finish(self, item: Json) -> None:
        begun = self.item[0]["item"]
        assert begun["type"] == item["type"]
        assert begun["id"] == item["id"]
        assert item.get("status", "completed") == "completed"
        kinds = [event["type"] for event in self.item[1:-1]]
        assert tuple(dict.fromkeys(kinds)) == _GRAMMAR[item["type"]], kinds
        assert all(kinds.count(kind) == 1 for kind in kinds if not kind.endswith(".delta"))
        told = "".join(event["delta"] for event in self.item if "delta" in event)
        assert told == _text_of(item)
        for event in self.item:
            if event["type"].endswith(("_text.done", "_arguments.done")):
                assert event.get("text", event.get("arguments")) == told
        self.finished.append(item)
        self.item = []

    def _check_end(self, kind: str, response: Json) -> None:
        assert response["status"] in TERMINAL[kind]
        assert response["output"] == self.finished
        assert (response["error"] is not None) == (response["status"] == "failed")
        assert (response["completed_at"] is not None) == (response["status"] == "completed")
        self.is_over = True


def _text_of(item: Json) -> str:
    match item["type"]:
        case "message":
            return str(item["content"][0]["text"])
        case "function_call":
            return str(item["arguments"])
        case "reasoning":
            return str(item["summary"][0]["text"])
    return ""


def read_stream(raw: bytes, *, broken_off: bool = False) -> list[Json]:
    """Return the events of a stream's bytes. Its frames are one event each, and it ends with [DONE].

    A stream that was broken off may end anywhere.
    """
    assert raw.isascii()
    text = re.sub(r"(?m)^: keep-alive\n\n", "", raw.decode())
    if not broken_off:
        assert text.endswith(DONE), text[-200:]
    text, _, after = text.partition(DONE)
    assert not after, "something follows [DONE]"
    *frames, rest = text.split("\n\n")
    assert broken_off or not rest
    found = []
    for frame in frames:
        match = _FRAME.fullmatch(frame)
        assert match is not None, frame[:200]
        event = json.loads(match[2])
        assert event["type"] == match[1]
        found.append(event)
    return found
