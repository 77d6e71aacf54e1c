"""Assemble one response of a remote agent from its stream, replays and polls, in any mix.

An item counts once, however often it is seen. What an earlier worker has recorded is not yielded
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agents.running.runtime import Ignored, Said, Step
from workspace.protocols.responses.client import dialects
from workspace.protocols.responses.client.dialects import RemoteQuestion
from workspace.protocols.responses.client.http import WHOLE
from workspace.protocols.responses.client.snapshot import PriorItems
from workspace.protocols.responses.wire import Json, compact_json

Told = Said | Step | Ignored

OVER = frozenset({"completed", "failed", "incomplete", "cancelled"})
_WITH_RESPONSE = frozenset(
    {"created", "queued", "in_progress", "completed", "failed", "incomplete", "cancelled"}
)
MAX_DETAIL = 4_000


@dataclass
class Reply:
    """A response as far as it is known. ``status`` is the protocol's, empty until it is known.

    ``last`` is the last sequence number.
    """

    before: PriorItems = field(default_factory=PriorItems)
    name: str = ""
    status: str = ""
    last: int = -1
    questions: dict[str, RemoteQuestion] = field(default_factory=dict)
    usage: Json = field(default_factory=dict)
    envelope: Json = field(default_factory=dict)
    conversation: str = ""
    error: str = ""
    _said: dict[str, str] = field(default_factory=dict)
    _items: set[str] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        return self.status in OVER

    @property
    def text(self) -> str:
        return "\n\n".join(text.strip() for text in self._said.values() if text.strip())

    def hear(self, event: Json) -> Iterator[Told]:
        """Process an event of a stream, or a whole response, and yield what is new."""
        number = event.get("sequence_number")
        if isinstance(number, int) and not isinstance(number, bool):
            if number <= self.last:
                return
            self.last = number
        kind = str(event.get("type") or "")
        if kind == WHOLE or kind.removeprefix("response.") in _WITH_RESPONSE:
            yield from self._response(event.get("response"))
        elif kind == "response.output_item.done":
            yield from self._item(event.get("item"), event.get("output_index"))
        elif kind == "response.output_text.delta":
            yield from self._delta(str(event.get("item_id") or ""), event.get("delta"))
        elif kind == "error":
            self.status, self.error = "failed", str(event.get("message") or "It broke.")[:2000]
        elif (question := dialects.question_in_event(event)) is not None:
            self._ask(question)

    def _response(self, response: object) -> Iterator[Told]:
        if not isinstance(response, dict):
            return
        self.name = self.name or str(response.get("id") or "")
        output = response.get("output")
        for place, item in enumerate(output if isinstance(output, list) else []):
            yield from self._item(item, place)
        self.status = str(response.get("status") or self.status)
        for name in ("usage", "envelope"):
            if isinstance(found := response.get(name), dict):
                setattr(self, name, found)
        conversation, error = response.get("conversation"), response.get("error")
        if isinstance(conversation, dict):
            self.conversation = str(conversation.get("id") or "")
        if isinstance(error, dict):
            self.error = str(error.get("message") or "")[:2000]

    def _item(self, item: object, place: object) -> Iterator[Told]:
        if not isinstance(item, dict) or (item.get("status") == "in_progress" and not _asks(item)):
            return
        name = str(item.get("id") or f"item {place}")
        if name in self._items:
            return
        self._items.add(name)
        if (question := dialects.question_in_item(item)) is not None:
            self._ask(question)
        elif item.get("type") == "message":
            yield from self._message(name, item)
        elif name not in self.before.steps:
            yield _step(name, item)

    def _ask(self, question: RemoteQuestion) -> None:
        """Add a question once, whichever way it arrives: its call_id identifies it."""
        self.questions.setdefault(question.key, question)

    def _message(self, name: str, item: Json) -> Iterator[Told]:
        content = item.get("content")
        parts = (
            [part for part in content if isinstance(part, dict)]
            if isinstance(content, list)
            else []
        )
        texts = (part.get("text") for part in parts)
        whole = "".join(text for text in texts if isinstance(text, str))
        said = self._said.get(name, "")
        if whole.startswith(said):
            yield from self._delta(name, whole[len(said) :])

    def _delta(self, name: str, piece: object) -> Iterator[Told]:
        if not isinstance(piece, str) or not piece:
            return
        self._said[name] = self._said.get(name, "") + piece
        known = min(self.before.characters, len(piece))
        self.before.characters -= known
        if piece := piece[known:]:
            yield Said(piece)


def _asks(item: Json) -> bool:
    return dialects.question_in_item(item) is not None


def _step(name: str, item: Json) -> Step:
    """Return any other item as a step, with the arguments of a function call as its detail."""
    kind = str(item.get("type") or "item")
    if kind != "function_call":
        return Step(name, kind[:200])
    title = str(item.get("name") or kind)[:200]
    return Step(name, title, detail=_detail(item.get("arguments")))


def _detail(arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else compact_json(arguments)
    return text[:MAX_DETAIL]
