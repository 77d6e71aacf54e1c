"""Real receivers: commands that store their input, and a local HTTP server."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workspace.notify.courier import Courier

#: Appends its input in one write, so that several may run at once.
KEEPS = """
import os, sys
data = sys.stdin.buffer.read()
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(handle, data)
"""


def keeping_command(file: Path, *, then: str = "") -> list[str]:
    """Return a command that appends each event to a file and then runs the code in ``then``."""
    return [sys.executable, "-c", KEEPS + then, str(file)]


def kept(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@dataclass
class Received:
    """A received request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


@dataclass
class Receiver:
    """A local HTTP server. It responds with the statuses in ``answers``, and repeats the last."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=lambda: [204])
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    hold: threading.Event = field(default_factory=threading.Event)
    holding: bool = False

    def next_answer(self) -> int:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiver(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Run a receiver on a free port, over https if a context with a certificate is passed."""

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            if tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def finish(self) -> None:
            super().finish()
            self.request.close()

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            sent = {name.lower(): value for name, value in self.headers.items()}
            place.received.append(Received(self.path, sent, body))
            if place.holding:
                place.hold.wait(60)
            self.send_response(place.next_answer())
            for name, value in place.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(place.body)

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # clients may hang up
    scheme = "http" if tls is None else "https"
    place = Receiver(f"{scheme}://127.0.0.1:{server.server_address[1]}/hook")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield place
    finally:
        place.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


async def deliver_all() -> int:
    """Deliver what is due now; return the number of attempts."""
    courier, attempts = Courier(), 0
    while started := await courier.round():
        attempts += started
        await courier.finish()
    return attempts
