"""Responses servers that answer as told, on a real socket, and agents that are driven there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.contrib.auth.models import User

from agents.lifecycle import AgentState
from agents.models import Agent, Session
from agents.registration import register_agent
from agents.running.runtime import Ended
from tests.factories import home_of
from tests.responses.world import carry_all, in_this_thread
from workspace.protocols.responses.client.runtime import RemoteResponsesRuntime

Json = dict[str, Any]
Script = Callable[["Exchange"], None]


class Exchange:
    """One request, and how to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        length = int(handler.headers.get("Content-Length") or 0)
        raw = handler.rfile.read(length)
        self.method, self.path = handler.command, handler.path
        self.headers = dict(handler.headers.items())
        self.body: Json = json.loads(raw) if raw else {}

    def json(self, said: object, status: int = 200, **headers: str) -> None:
        self.raw(json.dumps(said).encode(), status, "application/json", **headers)

    def raw(self, said: bytes, status: int = 200, kind: str = "text/html", **headers: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", kind)
        self._handler.send_header("Content-Length", str(len(said)))
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(said)

    def stream(self, *events: Json | bytes) -> None:
        """Events as they are, or bytes; then the connection ends."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "text/event-stream")
        self._handler.send_header("Connection", "close")
        self._handler.end_headers()
        for event in events:
            if isinstance(event, bytes):
                self._handler.wfile.write(event)
            else:
                frame = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self._handler.wfile.write(frame.encode())
            self._handler.wfile.flush()
        self._handler.close_connection = True

    def hang_up(self) -> None:
        """Close the connection without a word."""
        self._handler.close_connection = True
        self._handler.connection.close()


class Remote:
    """A server; each request is answered by the next script, the last one again and again."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.requests: list[Exchange] = []
        self._lock = threading.Lock()
        self.url = ""

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        exchange = Exchange(handler)
        with self._lock:
            script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
            self.requests.append(exchange)
        script(exchange)

    @property
    def posts(self) -> list[Exchange]:
        return [one for one in self.requests if one.method == "POST"]

    def then(self, *scripts: Script) -> None:
        """What comes next."""
        self.scripts[len(self.requests) :] = scripts


@contextmanager
def serving(remote: Remote) -> Iterator[Remote]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            remote.take(self)

        do_GET = do_POST  # noqa: N815 -- the name http.server looks for

        def log_message(self, *_: object) -> None:
            """pytest shows the requests that matter."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A script that hangs up is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    remote.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield remote
    finally:
        server.shutdown()
        server.server_close()


def remote_agent(owner: User, url: str, slug: str = "driver", **settings: Any) -> Agent:
    quick = {"poll_seconds": 0.02, "silence_seconds": 2, "patience_seconds": 20, "base_url": url}
    return register_agent(
        slug=slug,
        owners=[owner],
        runtime_key="responses-remote",
        settings={**quick, **settings},
        mission="Close October.",
        lifecycle=AgentState.ACTIVE,
    )


def drive() -> list[Ended]:
    """Carry every queued run of remote agents to its end."""
    return carry_all(RemoteResponsesRuntime(read=in_this_thread))


def start(agent: Agent, by: User) -> Session:
    """Start an agent's home session and carry its run."""
    from agents import controls

    home = home_of(agent)
    controls.start_session(session_id=home.pk, by=by)
    drive()
    return Session.objects.get(pk=home.pk)


# What servers say.


def response(*output: Json, name: str = "resp_1", status: str = "completed", **more: Any) -> Json:
    return {"id": name, "object": "response", "status": status, "output": list(output), **more}


def said(text: str, item: str = "msg_1") -> Json:
    part = {"type": "output_text", "text": text}
    return {
        "type": "message",
        "id": item,
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def step(name: str = "load", item: str = "fc_step") -> Json:
    return call(name, name, "{}", item)


def call(
    name: str, call_id: str, arguments: object, item: str = "fc_1", status: str = "completed"
) -> Json:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "type": "function_call",
        "id": item,
        "name": name,
        "call_id": call_id,
        "arguments": text,
        "status": status,
    }


def question(
    call_id: str = "ledger.aaaaaaaaaaaa", options: object = ("EU", "US"), **more: Any
) -> Json:
    event = {"type": "request_info", "data": {"question": "Which ledger?"}}
    found = {"request_id": call_id, "request_event": event, "options": options, **more}
    return call("request_info", call_id, {k: v for k, v in found.items() if v is not None})


def streamed(whole: Json) -> list[Json]:
    """A whole response as the events of its stream."""
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(whole["output"]):
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def tells(whole: Json) -> Script:
    """Answers with a response: as a stream if that is asked for, whole otherwise."""

    def script(exchange: Exchange) -> None:
        if exchange.body.get("stream") or "stream=true" in exchange.path:
            exchange.stream(*streamed(whole))
        else:
            exchange.json(whole)

    return script


def refuses(status: int, code: str = "", message: str = "No.", **headers: str) -> Script:
    error = {"error": {"message": message, "type": "x", "param": None, "code": code or None}}
    return lambda exchange: exchange.json(error, status, **headers)
