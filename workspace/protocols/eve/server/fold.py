"""Fold a session's events into the events of the wire: pure, append-only, the same on every replay.

The wire event at index N never changes, so a reader may stop and continue anywhere. A pause is
input.requested, turn.completed, session.waiting. Answers are reported when every request of the pause
has one, and the turn that continues is the next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from workspace.protocols.eve.server import ids, log_events
from workspace.protocols.eve.server.log_events import (
    APPROVAL,
    QUESTION,
    About,
    Happened,
    Json,
    LoggedRequest,
)
from workspace.protocols.eve.server.resolutions import Resolution, rejected, response_of

EVE_VERSION = "0.13.8"
FAILED = "The turn failed."
WORDS = 2000
#: Notes of the runtime inside a turn that go to the wire unchanged.
INSIDE = frozenset(
    {
        "step.started",
        "message.appended",
        "message.completed",
        "reasoning.appended",
        "reasoning.completed",
        "action.input.appended",
        "action.partial",
        "actions.requested",
        "action.result",
        "step.completed",
        "step.failed",
        "result.completed",
    }
)


@dataclass(frozen=True)
class Message:
    """A message that waits for the turn that carries it. ``not_for`` is a run that had already started."""

    text: str
    delivery: str
    not_for: int | None


def fold_events(about: About, happened: Iterable[Happened]) -> list[Json]:
    """Return the wire events of a whole log, or of its beginning."""
    state = Fold(about)
    return [event for each in happened for event in state.take(each)]


class Fold:
    """The state of folding a log. Call ``take`` with one event after the other."""

    def __init__(self, about: About) -> None:
        self.about = about
        self.turn = -1
        self.run: int | None = None
        self.step = 0
        self.step_is_open = False
        self.is_over = False
        self.has_begun = False
        self.error = ""
        self.said: dict[str, str] = {}
        self.deliveries: list[str] = []
        self.messages: list[Message] = []
        self.asked: list[LoggedRequest] = []
        self.open: dict[int, LoggedRequest] = {}
        self.settled: list[Resolution] = []
        self.rejected: set[str] = set()
        self._now: Happened
        self._out: list[Json] = []
        self._handlers: dict[str, Callable[[Happened], None]] = {
            "started": self._started,
            "message": self._message,
            "noted": self._noted,
            "asked": self._asked,
            "error": self._error,
            "ended": self._ended,
            "verdict": self._verdict,
            "withdrawn": self._withdrawn,
            "expired": self._withdrawn,
            "superseded": self._superseded,
            "state": self._state,
        }
        self._noted_here: dict[str, Callable[[Json], None]] = {
            log_events.TYPED: self._typed,
            log_events.CANCELLED: self._cancelled,
            log_events.CLEARED: self._cleared,
            log_events.AT_REST: self._at_rest,
        }

    def take(self, happened: Happened) -> list[Json]:
        """Return the wire events that result from the next event, often none."""
        if self.is_over:
            return []
        self._now, self._out = happened, []
        handler = self._handlers.get(happened.kind)
        if handler is not None:
            handler(happened)
        return self._out

    # -- what happened ---------------------------------------------------------------------------

    def _started(self, event: Happened) -> None:
        if event.run == self.run:
            self._begun_again()
            return
        if self.run is not None:
            self._close("turn.cancelled")
        self.turn, self.run = self.turn + 1, event.run
        self.step, self.step_is_open, self.said, self.error = 0, False, {}, ""
        carried = [message for message in self.messages if message.not_for != event.run]
        self.messages = [message for message in self.messages if message.not_for == event.run]
        if new := [message.delivery for message in carried if message.delivery]:
            self.deliveries = new
        if not self.has_begun:
            self.has_begun = True
            self._tell("session.started", {"runtime": self._runtime()})
        self._in_turn("turn.started")
        for message in carried:
            parts = [{"type": "text", "text": message.text}]
            self._in_turn("message.received", {"message": message.text, "parts": parts})

    def _begun_again(self) -> None:
        """Another worker starts this turn over because the first worker was lost."""
        self._fail_step("The worker was lost; the turn starts over.")
        self.said = {}

    def _message(self, event: Happened) -> None:
        ours = _dict(event.data.get("eve"))
        delivery, under_way = str(ours.get("deliveryId") or ""), ours.get("notForRun")
        self.messages.append(Message(event.text, delivery, under_way))
        if self.open and delivery:  # this message makes the open requests ignored
            self.deliveries = [delivery]

    def _noted(self, event: Happened) -> None:
        what, data = str(event.data.get("type")), _dict(event.data.get("data"))
        if event.data.get("kind") != "eve":
            return
        if what in self._noted_here:
            self._noted_here[what](data)
        elif what in INSIDE and self.run is not None and event.run == self.run:
            self._inside(what, data)

    def _inside(self, what: str, data: Json) -> None:
        self.step = _number(data.get("stepIndex"), self.step)
        if what == "action.result" and self._is_told(data):
            return
        if what.endswith(".appended") and what != "action.input.appended":
            data = data | self._grown(what.removesuffix(".appended"), data)
        if what in ("step.started", "step.completed", "step.failed"):
            self.said, self.step_is_open = {}, what == "step.started"
        if what.endswith(".completed"):
            self.said.pop(what.removesuffix(".completed"), None)
        self._in_turn(what, data, step=self.step)

    def _is_told(self, data: Json) -> bool:
        """Tell whether this is a rejection that was already reported with the answer."""
        result = _dict(data.get("result"))
        return data.get("status") == "rejected" and result.get("callId") in self.rejected

    def _grown(self, which: str, data: Json) -> Json:
        """Return the whole text so far: older clients read it, newer ones read the addition."""
        self.said[which] = self.said.get(which, "") + str(data.get(f"{which}Delta") or "")
        return {f"{which}SoFar": self.said[which]}

    def _asked(self, event: Happened) -> None:
        if event.request is None:
            return
        if self.run is None:
            self._announce([event.request])
        else:
            self.asked.append(event.request)

    def _announce(self, requests: list[LoggedRequest]) -> None:
        self.open |= {request.ask_id: request for request in requests}
        said = {"requests": [request.wire for request in requests]}
        self._in_turn("input.requested", said, step=requests[-1].step)

    def _error(self, event: Happened) -> None:
        if event.run == self.run:
            self.error = event.text[:WORDS]

    def _ended(self, event: Happened) -> None:
        if self.run is None or event.run != self.run:
            return
        if self.asked:
            self._announce(self.asked)
            self.asked = []
        if event.data.get("status") == "failed":
            self._fail_step(self.error or FAILED)
            self._close("turn.failed", {"code": "RUN_FAILED", "message": self.error or FAILED})
        else:
            self._close("turn.completed")
        if event.data.get("status") != "continued" or self.open:
            self._wait()

    def _verdict(self, event: Happened) -> None:
        request, decided = event.request, event.decided
        if request is None or decided is None or self.open.pop(request.ask_id, None) is None:
            return
        outcome = "answered"
        if request.kind == APPROVAL:
            outcome = "approved" if decided.approves else "denied"
            said = {
                "requestId": request.request_id,
                "outcome": "approved" if decided.approves else "cancelled",
                "responderPrincipalId": event.actor,
            }
            self._in_turn("approval.settled", said, step=request.step)
        self._settle(Resolution(request, outcome, response_of(request, decided), decided.text))

    def _withdrawn(self, event: Happened) -> None:
        request = event.request
        if request is None or self.open.pop(request.ask_id, None) is None:
            return
        ignored = event.data.get("ignored") is True
        self._settle(Resolution(request, "ignored" if ignored else "cancelled"))

    def _superseded(self, event: Happened) -> None:
        """Another request replaced this one and was already reported. The call itself still waits."""
        request = event.request
        if request is None or self.open.pop(request.ask_id, None) is None:
            return
        said = {"resolutions": [Resolution(request, "cancelled").resolution()]}
        self._in_turn("input.resolved", said, step=request.step)

    def _settle(self, settled: Resolution) -> None:
        request = settled.request
        if self.open and request.kind == QUESTION:
            said = {"resolutions": [settled.resolution()]}
            self._in_turn("input.resolved", said, step=request.step)
            settled = Resolution(request, settled.outcome, told=True)
        self.settled.append(settled)
        if not self.open:
            self._resolve_all()

    def _resolve_all(self) -> None:
        """Report all outcomes not yet reported, then the calls that will not run. No request is open."""
        done, self.settled = self.settled, []
        untold = [each.resolution() for each in done if not each.told]
        if untold:
            said = {"resolutions": untold}
            self._in_turn("input.resolved", said, step=done[-1].request.step)
        for each in done:
            if each.request.kind == APPROVAL and each.outcome in ("denied", "ignored"):
                self._reject(each)

    def _reject(self, settled: Resolution) -> None:
        self.rejected.add(settled.request.wire["action"]["callId"])
        self._in_turn("action.result", rejected(settled), step=settled.request.step)

    def _state(self, event: Happened) -> None:
        """The session ended for good, or a person stopped its run."""
        if event.is_the_end:
            if self.run is not None:
                self._close("turn.cancelled")
            self._tell("session.completed", {})
            self.is_over = True
        elif self.run is not None and event.run == self.run:
            self._stopped()

    def _stopped(self) -> None:
        self._close("turn.cancelled")
        self._wait()

    # -- what this door noted --------------------------------------------------------------------

    def _typed(self, data: Json) -> None:
        """The text is part of the turn that continues. Events until then carry its delivery id."""
        self.deliveries = [str(data.get("deliveryId"))]
        self.messages.append(Message(str(data.get("message")), self.deliveries[0], None))

    def _cancelled(self, data: Json) -> None:
        """Drop the waiting messages, and report the cancellation under their delivery ids."""
        del data
        if dropped := [message.delivery for message in self.messages if message.delivery]:
            self.deliveries = dropped
        self.messages = []
        if self.run is not None:
            self._close("turn.cancelled")
        self._wait()

    def _cleared(self, data: Json) -> None:
        del data
        coordinates = {"sessionId": self.about.session_id}
        self._in_turn("context.cleared", coordinates)
        self._wait()

    def _at_rest(self, data: Json) -> None:
        del data
        if self.run is None:
            self._wait()

    # -- reporting -------------------------------------------------------------------------------

    def _fail_step(self, why: str) -> None:
        if self.step_is_open:
            self._in_turn("step.failed", {"code": "STEP_FAILED", "message": why}, step=self.step)
            self.step_is_open = False

    def _close(self, how: str, data: Json | None = None) -> None:
        self._in_turn(how, data or {})
        self.run, self.asked, self.step_is_open = None, [], False

    def _wait(self) -> None:
        said = {"wait": "next-user-message", "continuationToken": self.about.token}
        self._tell("session.waiting", said)

    def _runtime(self) -> Json:
        return {
            "agentId": self.about.agent_id,
            "eveVersion": EVE_VERSION,
            "modelId": "external/workspace",
        }

    def _in_turn(self, what: str, data: Json | None = None, *, step: int | None = None) -> None:
        sequence = max(self.turn, 0)
        coordinates: Json = {"sequence": sequence, "turnId": f"turn_{sequence}"}
        if step is not None:
            coordinates["stepIndex"] = step
        self._tell(what, (data or {}) | coordinates)

    def _tell(self, what: str, data: Json) -> None:
        at, pk = self._now.at, self._now.pk
        meta: Json = {"at": ids.moment(at), "id": ids.event_id(pk, len(self._out), at)}
        if self.deliveries:
            meta["deliveryIds"] = list(self.deliveries)
        self._out.append({"type": what, "data": data, "meta": meta})


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


#: The kinds of events that the wire is built from.
KINDS = (
    "started",
    "message",
    "noted",
    "asked",
    "error",
    "ended",
    "verdict",
    "withdrawn",
    "expired",
    "superseded",
    "state",
)
