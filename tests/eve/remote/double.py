"""An eve server on a real socket, of the old era or of the current one, with a scripted agent.

    hello                      says "echo: hello"
    call refund {"amount": 1}  asks for approval, then says "refunded" and counts that it ran
    ask {"prompt": …}          asks a question, then says "got <answer>"

Several are joined with "; ". ``faults`` spoil requests: each is called with the handler and says
whether it has answered.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
Era = Literal["seed", "current"]
Fault = Callable[["Handler"], bool]
_numbers = itertools.count(1)


@dataclass
class Conversation:
    """One session: its events, what it waits for, and what ran."""

    era: Era
    name: str
    token: str
    turn: int = -1
    step: int = 0
    events: list[Json] = field(default_factory=list)
    open: dict[str, Json] = field(default_factory=dict)
    given: dict[str, Json] = field(default_factory=dict)
    ran: list[Json] = field(default_factory=list)
    moved: threading.Condition = field(default_factory=threading.Condition)
    over: bool = False

    def say(self, kind: str, **data: Any) -> None:
        event = {"type": kind, "data": {"turnId": f"turn_{self.turn}", **data}}
        if self.era == "current":
            event["meta"] = {"id": f"evt_{self.name}_{len(self.events)}"}
        self.events.append(event)

    def hear(self, message: str) -> None:
        """A message. What waits is ignored by it; in the current era text answers the first."""
        with self.moved:
            if not self.events:
                self.say("session.started", runtime={"agentId": "double"})
            if self.open and self.era == "current":
                first = next(iter(self.open.values()))
                self.settle([{"requestId": first["requestId"], "text": message}])
            else:
                self.open.clear()
                self._begin(message)
                self._play(message.split("; "))
            self.moved.notify_all()

    def _begin(self, message: str | None) -> None:
        self.turn += 1
        self.step = 0
        self.say("turn.started", sequence=self.turn)
        if message is not None:
            self.say("message.received", message=message)
        self.say("step.started", stepIndex=0)

    def _play(self, parts: list[str]) -> None:
        asked = [request for part in parts if (request := self._request(part)) is not None]
        said = [f"echo: {part}" for part in parts if not part.startswith(("call ", "ask "))]
        if not asked:
            self._end(" ".join(said))
            return
        self.open = {request["requestId"]: request for request in asked}
        if self.era == "current":
            for request in asked:
                self.say("actions.requested", actions=[request["action"]])
        self.say("step.completed", usage={"inputTokens": 3, "outputTokens": 2})
        self.say("input.requested", requests=asked)
        self._park()

    def ask_also(self, part: str) -> Json:
        """One more request of the same turn, not told yet."""
        request = self._request(part) or {}
        self.open[request["requestId"]] = request
        return request

    def _request(self, part: str) -> Json | None:
        kind, _, rest = part.partition(" ")
        name = f"aitxt-{next(_numbers)}"
        if kind == "call":
            tool, _, arguments = rest.partition(" ")
            return self._approval(name, tool, json.loads(arguments))
        if kind != "ask":
            return None
        asked = json.loads(rest)
        action = {"kind": "tool-call", "callId": name, "toolName": "ask_question", "input": asked}
        more = {"kind": "question"} if self.era == "current" else {}
        return {"requestId": name, "action": action, **asked, **more}

    def _approval(self, name: str, tool: str, arguments: Json) -> Json:
        no = "cancel" if self.era == "current" else "deny"
        labels = (
            {"approve": "Approve", no: "Cancel"} if no == "cancel" else {"approve": "Yes", no: "No"}
        )
        more = {"kind": "tool-approval"} if self.era == "current" else {}
        call = {"kind": "tool-call", "callId": f"call-{name}", "toolName": tool, "input": arguments}
        return {
            "requestId": name,
            "prompt": f"Approve tool call: {tool}",
            "action": call,
            "options": [{"id": key, "label": label} for key, label in labels.items()],
            "allowFreeform": False,
            "display": "confirmation",
            **more,
        }

    def _park(self) -> None:
        if self.era == "current":
            self.say("turn.waiting", on="input")
        else:
            self.say("turn.completed")
            self.say("session.waiting", wait="next-user-message")

    def _end(self, words: str) -> None:
        half = len(words) // 2
        for piece in (words[:half], words[half:]):
            self.say("message.appended", messageDelta=piece)
        self.say("message.completed", message=words, finishReason="stop")
        self.say("turn.completed")
        self.say("session.waiting", wait="next-user-message")

    def answer(self, responses: list[Json]) -> None:
        with self.moved:
            self.settle(responses)
            self.moved.notify_all()

    def settle(self, responses: list[Json]) -> None:
        """Late answers are a message in the current era, and an empty turn in the old one."""
        live = [one for one in responses if one["requestId"] in self.open]
        if not live:
            self._begin("late" if self.era == "current" else None)
            self._end("nothing was waiting")
            return
        self.given |= {one["requestId"]: one for one in live}
        if self.era == "current" and set(self.open) - set(self.given):
            self.say("approval.settled", requestId=live[0]["requestId"], outcome="approved")
            self.say("turn.waiting", on="input")
            return
        asked, self.open = self.open, {}
        self._resume(asked)

    def _resume(self, asked: Json) -> None:
        done = [self._outcome(request) for request in asked.values()]
        if self.era == "current":
            told = [
                {"requestId": name, "outcome": how} for name, how in zip(asked, done, strict=True)
            ]
            for one in told:
                if one["outcome"] != "answered":
                    self.say("approval.settled", **one)
            self.say("input.resolved", resolutions=told)
            self.step += 1
            self.say("step.started", stepIndex=self.step)
        else:
            self._begin(None)
        for request, how in zip(asked.values(), done, strict=True):
            self._result(request, how)
        self._end(
            " and ".join(
                self._words(one, how) for one, how in zip(asked.values(), done, strict=True)
            )
        )

    def _outcome(self, request: Json) -> str:
        said = self.given.get(request["requestId"])
        if request["action"]["toolName"] == "ask_question":
            return "answered" if said else "ignored"
        if said is None:
            return "ignored"
        return "approved" if said.get("optionId") == "approve" else "denied"

    def _result(self, request: Json, how: str) -> None:
        call = request["action"]
        status = "completed" if how in {"approved", "answered"} else "rejected"
        if how == "approved":
            self.ran.append(call["input"])
        result = {"callId": call["callId"], "toolName": call["toolName"], "output": how}
        self.say("action.result", status=status, result=result)

    def _words(self, request: Json, how: str) -> str:
        said = self.given.get(request["requestId"], {})
        if how == "answered":
            return f"got {said.get('optionId') or said.get('text')}"
        note = f" ({said['text']})" if said.get("text") else ""
        return ("refunded" if how == "approved" else how) + note


class Double:
    """A server of one era. ``requests`` are what it was sent: method, path, body."""

    def __init__(self, era: Era) -> None:
        self.era, self.url = era, ""
        self.sessions: dict[str, Conversation] = {}
        self.requests: list[tuple[str, str, Json]] = []
        self.faults: list[Fault] = []
        self.heartbeat, self.lease = 0.05, 0
        self.stopping = threading.Event()

    @property
    def session(self) -> Conversation:
        return list(self.sessions.values())[-1]

    @property
    def posts(self) -> list[Json]:
        return [body for method, _, body in self.requests if method == "POST"]

    def open(self) -> Conversation:
        name = f"wrun_{next(_numbers)}"
        made = Conversation(self.era, name, f"eve:{name}" if self.era == "seed" else "")
        self.sessions[name] = made
        return made


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: Double

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else {}
        self.double.requests.append(("POST", self.path, body))
        if self._is_spoiled():
            return
        name = urlsplit(self.path).path.removeprefix("/eve/v1/session").strip("/")
        if not name:
            session = self.double.open()
            more = {"continuationToken": session.token} if session.token else {"status": "accepted"}
            self.reply(202, {"ok": True, "sessionId": session.name, **more})
            session.hear(body["message"])
            return
        found = self.double.sessions.get(name)
        if found is None or found.over or body.get("continuationToken", "") != found.token:
            wrong = {"ok": False, "code": "session_not_active", "error": "It is no longer active."}
            self.reply(409, wrong)
            return
        self.reply(200 if found.token else 202, {"ok": True, "sessionId": name})
        self.take(found, body)

    def take(self, session: Conversation, body: Json) -> None:
        if "inputResponses" in body:
            session.answer(body["inputResponses"])
        else:
            session.hear(body["message"])

    def do_GET(self) -> None:
        self.double.requests.append(("GET", self.path, {}))
        if self._is_spoiled():
            return
        parts = urlsplit(self.path)
        found = self.double.sessions.get(parts.path.split("/")[-2])
        if found is None:
            self.reply(404, {"ok": False, "error": "Session not found."})
            return
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        ends = self.double.era == "current" and query.get("follow") == "false"
        self.begin(found, tail=ends)
        self._stream(found, int(query.get("startIndex", 0)), ends=ends)

    def begin(self, session: Conversation, *, tail: bool = False) -> None:
        """The head of a stream."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson; charset=utf-8")
        self.send_header("x-eve-stream-version", "26" if session.era == "current" else "16")
        if tail:
            self.send_header("x-eve-stream-tail-index", str(len(session.events) - 1))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _stream(self, session: Conversation, at: int, *, ends: bool) -> None:
        beats = 0
        self.write(b"\n")
        while not self.double.stopping.is_set():
            with session.moved:
                fresh = session.events[at:]
                if not fresh and not ends:
                    session.moved.wait(self.double.heartbeat)
            at += len(fresh)
            for event in fresh:
                self.write(json.dumps(event).encode() + b"\n")
            if ends or session.over:
                return
            beats += not fresh
            if self.double.era == "current" and not fresh:
                self.write(b"\n")
                if self.double.lease and beats >= self.double.lease:
                    self.write(b'{"$eve":"stream.lease-ended","version":1}\n')
                    return

    def write(self, piece: bytes) -> None:
        self.wfile.write(piece)
        self.wfile.flush()

    def reply(self, status: int, said: object, **headers: str) -> None:
        raw = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def hang_up(self) -> None:
        """Close the connection without a word."""
        self.close_connection = True
        self.connection.close()

    def _is_spoiled(self) -> bool:
        return any(fault(self) for fault in list(self.double.faults))

    def log_message(self, *_: object) -> None:
        """pytest shows the requests that matter."""


@contextmanager
def serving(era: Era) -> Iterator[Double]:
    double = Double(era)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Whoever hangs up is no error."""

    handler = type("Handler", (Handler,), {"double": double})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    double.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield double
    finally:
        double.stopping.set()
        server.shutdown()
        server.server_close()


def once(fault: Fault, *, method: str, path: str = "", after: int = 0) -> Fault:
    """A fault of one request only: the first, or a later one, of a method with this in its path."""
    seen = itertools.count()

    def spoil(handler: Handler) -> bool:
        if handler.command != method or path not in handler.path or next(seen) != after:
            return False
        return fault(handler)

    return spoil
