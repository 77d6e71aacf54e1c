"""Append to the event stream of one response, under its session's lock.

Every event is a row with the text to send, so later readers get the same. No state of a stream is kept
in a process: a worker that takes over a run continues where the stream ended.
"""

from __future__ import annotations

import json
import re
from typing import Any

from django.db.models import QuerySet

from workspace.protocols.responses import wire
from workspace.protocols.responses.models import (
    Response,
    ResponseEvent,
    ResponseStatus,
    Steps,
)
from workspace.protocols.responses.server.ids import new_item_id
from workspace.protocols.responses.server.parameters import MAX_METADATA
from workspace.protocols.responses.wire import Json, compact_json

TERMINAL = ("response.completed", "response.failed", "response.incomplete")
_ADDED = "response.output_item.added"
_DONE = "response.output_item.done"
_DELTA = "response.output_text.delta"
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_FIELDS = [
    "status",
    "paused",
    "body",
    "kept",
    "cost_usd",
    "run",
    "next_seq",
    "item_count",
    "open_seq",
    "ended_at",
]


class ResponseStream:
    """The events of a response. ``save`` writes them and the response together."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self._new: list[ResponseEvent] = []

    def save(self) -> None:
        self.write()
        self.response.save(update_fields=_FIELDS)

    def write(self) -> None:
        """Write the events of a response that the caller saves."""
        ResponseEvent.objects.bulk_create(self._new)
        self._new = []

    # The life of a response.

    def created(self) -> None:
        self._tell("response.created")
        if self.response.status == ResponseStatus.QUEUED:
            self._tell("response.queued")

    def begun(self) -> None:
        """Report once that work has begun, however many workers take it up."""
        if self.response.next_seq > 1 + self.response.background:
            return
        self._set_status(ResponseStatus.IN_PROGRESS)
        self._tell("response.in_progress")

    def ended(self, status: ResponseStatus, *, at: Any, envelope: Json, error: str = "") -> None:
        """Write the terminal event, with the whole response. ``at`` is an aware datetime."""
        self.end_message()
        response = self.response
        response.ended_at = at
        body = response.body
        body["completed_at"] = int(at.timestamp()) if status == ResponseStatus.COMPLETED else None
        body["error"] = {"code": "server_error", "message": error} if error else None
        body["output"] = self._output()
        body["envelope"] = envelope
        body["metadata"] = with_status(body["metadata"], envelope)
        self._set_status(status)
        # A cancelled response has no event of its own in the protocol.
        completed = status == ResponseStatus.COMPLETED
        self._tell("response.completed" if completed else "response.failed")

    # Its output.

    def say(self, text: str) -> None:
        """Append text to the open message, or begin one."""
        if self.response.open_seq is None:
            self._begin_message()
        item_id, place = self._open_item()
        self._emit(
            _DELTA, item_id=item_id, output_index=place, content_index=0, delta=text, logprobs=[]
        )

    def end_message(self) -> None:
        if self.response.open_seq is None:
            return
        item_id, place = self._open_item()
        text = self._text_since(self.response.open_seq)
        self._finish_text(item_id, place, text)
        item = wire.message(item_id, text=text, status="completed")
        self._emit(_DONE, output_index=place, item=item)
        self.response.open_seq = None

    def step(self, name: str, arguments: str) -> None:
        """Write a finished step of the work in the way that suits the response's caller."""
        match self.response.steps:
            case Steps.REASONING:
                self.reasoning(f"{name} {arguments}")
            case Steps.COMMENTARY:
                self.commentary(f"{name} {arguments}")
            case _:
                # A question is known by its name alone, so no step may have that name.
                safe = _UNNAMEABLE.sub("_", name)[:_LONGEST_NAME] or "step"
                safe = f"step_{safe}" if safe in wire.QUESTIONS else safe
                self.call(safe, safe, arguments)

    def reasoning(self, text: str) -> None:
        """Write a summary of the agent's reasoning: a client shows it, and runs nothing."""
        self.end_message()
        item_id, place = self._new_id("rs"), self._next_place()
        at = {"item_id": item_id, "output_index": place, "summary_index": 0}
        whole, part = "response.reasoning_summary_text", "response.reasoning_summary_part"
        begun = wire.reasoning(item_id, text=None, status="in_progress")
        self._emit(_ADDED, output_index=place, item=begun)
        self._emit(f"{part}.added", **at, part=wire.summary_text(""))
        self._emit(f"{whole}.delta", **at, delta=text)
        self._emit(f"{whole}.done", **at, text=text)
        self._emit(f"{part}.done", **at, part=wire.summary_text(text))
        done = wire.reasoning(item_id, text=text, status="completed")
        self._emit(_DONE, output_index=place, item=done)

    def commentary(self, text: str) -> None:
        """Write a whole message about the work, separate from the answer."""
        self.end_message()
        item_id, place = self._new_id("msg"), self._next_place()
        item = wire.message(item_id, text=None, status="in_progress", phase="commentary")
        self._emit(_ADDED, output_index=place, item=item)
        self._begin_text(item_id, place)
        self._emit(
            _DELTA, item_id=item_id, output_index=place, content_index=0, delta=text, logprobs=[]
        )
        self._finish_text(item_id, place, text)
        item = wire.message(item_id, text=text, status="completed", phase="commentary")
        self._emit(_DONE, output_index=place, item=item)

    def whole_message(self, text: str) -> None:
        """Write a message of its own."""
        self.end_message()
        self.say(text)
        self.end_message()

    def approval_request(self, item_id: str, name: str, arguments: str) -> None:
        """Write an approval in the shape of the MCP protocol. Its id is what an answer names."""
        self.end_message()
        place = self._next_place()
        item = wire.approval_request(item_id, name=name, arguments=arguments)
        self._emit(_ADDED, output_index=place, item=item)
        self._emit(_DONE, output_index=place, item=item)

    def call(self, name: str, call_id: str, arguments: str) -> None:
        """Write a function call: a step of the work, or a question."""
        self.end_message()
        item_id, place = self._new_id("fc"), self._next_place()

        def item(arguments: str, status: str) -> Json:
            return wire.function_call(
                item_id, name=name, call_id=call_id, arguments=arguments, status=status
            )

        at = {"item_id": item_id, "output_index": place}
        begun, done = item("", "in_progress"), item(arguments, "completed")
        self._emit(_ADDED, output_index=place, item=begun)
        self._emit("response.function_call_arguments.delta", **at, delta=arguments)
        self._emit("response.function_call_arguments.done", **at, name=name, arguments=arguments)
        self._emit(_DONE, output_index=place, item=done)

    # Helpers.

    def _emit(self, kind: str, **data: Any) -> int:
        seq = self.response.next_seq
        told = {"type": kind, "sequence_number": seq, **data}
        row = ResponseEvent(response=self.response, seq=seq, type=kind, data=compact_json(told))
        self._new.append(row)
        self.response.next_seq += 1
        return seq

    def _tell(self, kind: str) -> None:
        self._emit(kind, response=self.response.body)

    def _new_id(self, kind: str) -> str:
        return new_item_id(kind, self.response.public_id)

    def _set_status(self, status: ResponseStatus) -> None:
        self.response.status = status
        self.response.body["status"] = str(status)

    def _next_place(self) -> int:
        self.response.item_count += 1
        return self.response.item_count - 1

    def _begin_message(self) -> None:
        item_id, place = self._new_id("msg"), self._next_place()
        item = wire.message(item_id, text=None, status="in_progress")
        self.response.open_seq = self._emit(_ADDED, output_index=place, item=item)
        self._begin_text(item_id, place)

    def _begin_text(self, item_id: str, place: int) -> None:
        part = wire.output_text("")
        self._emit(
            "response.content_part.added",
            item_id=item_id,
            output_index=place,
            content_index=0,
            part=part,
        )

    def _finish_text(self, item_id: str, place: int, text: str) -> None:
        at = {"item_id": item_id, "output_index": place, "content_index": 0}
        self._emit("response.output_text.done", **at, text=text, logprobs=[])
        self._emit("response.content_part.done", **at, part=wire.output_text(text))

    def _open_item(self) -> tuple[str, int]:
        """Return the id and place of the open message."""
        seq = self.response.open_seq
        added = next((row for row in self._new if row.seq == seq), None)
        if added is None:
            added = ResponseEvent.objects.get(response=self.response, seq=seq or 0)
        told = json.loads(added.data)  # noqa: TID251  our own writing
        return told["item"]["id"], told["output_index"]

    def _text_since(self, seq: int) -> str:
        stored = self._rows(_DELTA).filter(seq__gt=seq).values_list("data", flat=True)
        fresh = [row.data for row in self._new if row.type == _DELTA and row.seq > seq]
        return "".join(json.loads(data)["delta"] for data in [*stored, *fresh])  # noqa: TID251  our own writing

    def _output(self) -> list[Json]:
        fresh = [row.data for row in self._new if row.type == _DONE]
        all_are_fresh = len(fresh) == self.response.item_count
        stored = [] if all_are_fresh else self._rows(_DONE).values_list("data", flat=True)
        return [json.loads(data)["item"] for data in [*stored, *fresh]]  # noqa: TID251  our own writing

    def _rows(self, kind: str) -> QuerySet[ResponseEvent]:
        return ResponseEvent.objects.filter(response=self.response, type=kind).order_by("seq")


def with_status(metadata: Json, envelope: Json) -> Json:
    """Return metadata with the pairs of the server, unless the caller's take all of the places."""
    paused = "true" if envelope["output"]["hitl_paused"] else "false"
    whole = metadata | {"envelope_status": envelope["status"], "hitl_paused": paused}
    return whole if len(whole) <= MAX_METADATA else metadata


def body_of(response: Response) -> Json:
    """Return the protocol's object. While in progress, it has the items that are complete."""
    if not response.is_under_way:
        body: Json = response.body
        return body
    done = ResponseEvent.objects.filter(response=response, type=_DONE).order_by("seq")
    output = [json.loads(data)["item"] for data in done.values_list("data", flat=True)]  # noqa: TID251  our own writing
    return {**response.body, "output": output}
