"""Decode a remote agent's stream: its output, steps and requests, and where it is idle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from agents.running.runtime import Said, Step
from workspace.protocols.common.http_client import Json
from workspace.protocols.eve.client import requests
from workspace.protocols.eve.client.requests import RemoteRequest

Told = Said | Step
#: From this version of the stream on, every answer is reported as ``input.resolved``.
TELLS_RESOLVED = 17
BRIEF = 500
_ASKS = frozenset({"input.requested", "turn.waiting", "session.waiting"})
#: Prefixes of the events which show that the agent is working.
_WORKS = ("turn.", "step.", "message.", "reasoning.", "action", "input.", "approval.")


@dataclass
class PriorTurns:
    """What the run's thread already holds: the number of output characters, and (call, status) of steps."""

    characters: int = 0
    steps: frozenset[tuple[str, str]] = frozenset()


@dataclass
class EveDecoder:
    """The decoder of a stream from ``cursor`` on.

    ``resting``: the last event is one at which the agent waits or has ended. ``moved``: something
    other than a question has arrived since ``mark``. ``resolved`` is how requests ended, by their
    keys. ``dead`` is the reason why the session accepts nothing any more.
    """

    cursor: int = 0
    version: int = 0
    resting: bool = True
    pending: dict[str, RemoteRequest] = field(default_factory=dict)
    before: PriorTurns = field(default_factory=PriorTurns)
    moved: bool = False
    resolved: dict[str, str] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    last_words: str = ""
    error: str = ""
    dead: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    _said: bool = False

    def mark(self) -> None:
        """Reset ``moved``, before a message is sent."""
        self.moved, self.error, self.last_words = False, "", ""
        self.heard = []

    def hear(self, event: Json) -> list[Told]:
        """Process an event, known or not, and return what is new.

        Raises GarbledReply for a request that cannot be answered.
        """
        kind, data = event.get("type"), event.get("data")
        if str(kind).startswith(_WORKS):
            self.resting = False
        handler = _HANDLERS.get(str(kind))
        told = handler(self, data if isinstance(data, dict) else {}) if handler else None
        self.moved = self.moved or kind not in _ASKS
        self.cursor += 1
        return told or []

    def requested(self, data: Json) -> None:
        for found in _objects(data.get("requests")):
            request = requests.read_request(found)
            self.pending[request.key] = request
            self.resolved.pop(request.key, None)

    def were_resolved(self, data: Json) -> None:
        for found in _objects(data.get("resolutions")):
            self._resolve(str(found.get("requestId", "")), str(found.get("outcome", "answered")))

    def was_settled(self, data: Json) -> None:
        self._resolve(str(data.get("requestId", "")), str(data.get("outcome", "answered")))

    def turn_started(self, _: Json) -> None:
        """Resolve all requests: in the old era no other event reports it, answered or not."""
        if self.version < TELLS_RESOLVED:
            for request in list(self.pending.values()):
                self._resolve(request.requestId, "answered or ignored")

    def _resolve(self, request_id: str, outcome: str) -> None:
        """Record how a request ended. The last report counts."""
        key = requests.request_key_of(request_id)
        self.pending.pop(key, None)
        self.resolved[key] = outcome

    def message_received(self, data: Json) -> None:
        self.heard.append(str(data.get("message", "")))

    def message_appended(self, data: Json) -> list[Told]:
        self._said = True
        return self._say(str(data.get("messageDelta", "")))

    def message_completed(self, data: Json) -> list[Told]:
        words = data.get("message")
        told = [] if self._said or not isinstance(words, str) else self._say(words)
        self._said = False
        if isinstance(words, str) and words:
            self.last_words = words
        return told

    def _say(self, text: str) -> list[Told]:
        """Return the text that is not in the thread yet."""
        skip = min(self.before.characters, len(text))
        self.before.characters -= skip
        return [Said(text[skip:])] if text[skip:] else []

    def actions_requested(self, data: Json) -> list[Told]:
        found = _objects(data.get("actions"))
        return [step for one in found for step in self._step(one, "", one.get("input"))]

    def action_result(self, data: Json) -> list[Told]:
        found = data.get("result")
        result = found if isinstance(found, dict) else {}
        return self._step(result, str(data.get("status", "")), result.get("output"))

    def _step(self, found: Json, status: str, detail: object) -> list[Told]:
        """Return a step of the agent, unless it is in the thread already."""
        text = detail if isinstance(detail, str) else json.dumps(detail, ensure_ascii=False)
        name = str(found.get("toolName") or "a tool")[:200]
        call = str(found.get("callId") or name)[:200]
        known = (call, status) in self.before.steps
        return [] if known else [Step(call, name, status, text[:BRIEF])]

    def step_completed(self, data: Json) -> None:
        used = data.get("usage")
        for name, number in (used if isinstance(used, dict) else {}).items():
            if isinstance(number, int) and not isinstance(number, bool):
                self.usage[name] = self.usage.get(name, 0) + number

    def turn_waiting(self, data: Json) -> None:
        self.resting = data.get("on") == "input"

    def session_waiting(self, _: Json) -> None:
        self.resting = True

    def failed(self, data: Json) -> None:
        self.error = str(data.get("message") or data.get("code") or "no reason given")[:BRIEF]

    def session_failed(self, data: Json) -> None:
        self.failed(data)
        self.resting, self.dead = True, f"the session failed: {self.error}"

    def session_completed(self, _: Json) -> None:
        self.resting, self.dead = True, "the session is over"

    def turn_cancelled(self, _: Json) -> None:
        self.error = "the turn was cancelled there"


def _objects(found: object) -> Iterable[Json]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


_HANDLERS: dict[str, Callable[[EveDecoder, Json], list[Told] | None]] = {
    "input.requested": EveDecoder.requested,
    "input.resolved": EveDecoder.were_resolved,
    "approval.settled": EveDecoder.was_settled,
    "turn.started": EveDecoder.turn_started,
    "message.received": EveDecoder.message_received,
    "message.appended": EveDecoder.message_appended,
    "message.completed": EveDecoder.message_completed,
    "actions.requested": EveDecoder.actions_requested,
    "action.result": EveDecoder.action_result,
    "step.completed": EveDecoder.step_completed,
    "turn.waiting": EveDecoder.turn_waiting,
    "session.waiting": EveDecoder.session_waiting,
    "turn.failed": EveDecoder.failed,
    "turn.cancelled": EveDecoder.turn_cancelled,
    "session.failed": EveDecoder.session_failed,
    "session.completed": EveDecoder.session_completed,
}
