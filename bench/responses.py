"""Measure the Responses server without model latency: park, answer, first byte, open streams.

A turn is compared with starting the same brain plus a view of the same server that needs a key and
finds nothing; a stream with that view alone; the memory of an open stream with that of a bare
Channels socket. A sample of the yardstick follows each sample of ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.figures import Figure

WARM_UP = 3
STREAMS = 200
PATIENCE = 60.0
NOBODY = "/responses/resp_nobody"
#: Asks in its first turn, and ends in the next.
BRAIN = """
import sys
prompt = sys.stdin.read()
if "# The answer" not in prompt:
    with open("hitl_request.json", "w") as file:
        file.write('{"request_id": "x", "question": "Which?", "options": ["EU", "US"]}')
"""


@dataclass
class House:
    """A web process and a worker, their brain, and a caller that keeps its connections."""

    url: str
    web: int
    brain: list[str]
    folder: Path
    http: httpx.Client
    agent: Any

    def trivial(self) -> float:
        began = time.perf_counter()
        self.http.get(NOBODY)
        return _ms(began)

    def bare(self) -> float:
        """Run the brain alone."""
        began = time.perf_counter()
        subprocess.run(self.brain, input=b"# Request", cwd=self.folder, check=True)
        return _ms(began)

    def post(self, body: dict[str, Any], expected: str) -> tuple[float, dict[str, Any]]:
        began = time.perf_counter()
        sent = self.http.post("/responses", json=body)
        took = _ms(began)
        answer: dict[str, Any] = sent.json()
        if sent.status_code != 200 or answer["envelope"]["status"] != expected:
            raise RuntimeError(f"HTTP {sent.status_code} {sent.text[:500]}")
        return took, answer

    def first_byte(self) -> float:
        began = time.perf_counter()
        body = {"input": "{}", "stream": True}
        with self.http.stream("POST", "/responses", json=body) as sent:
            chunks = sent.iter_raw()
            next(chunks)
            took = _ms(began)
            for _ in chunks:
                pass
        return took


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, _house(Path(folder)) as house:
        turns = [_turn(house) for _ in range(runs * 3 + WARM_UP)][WARM_UP:]
        firsts = [(house.first_byte(), house.trivial()) for _ in range(runs * 3 + WARM_UP)]
        ours = [_memory_of_streams(house)]
        yardstick = [_memory_of_sockets(Path(folder))]
    note = "yardstick: the same brain started bare, and a view with a key that finds nothing"
    return [
        Figure(
            "a turn that parks", [t[0] for t in turns], [t[2] for t in turns], target=4, note=note
        ),
        Figure(
            "answer → turn over", [t[1] for t in turns], [t[2] for t in turns], target=4, note=note
        ),
        Figure(
            "first byte of a stream",
            [first[0] for first in firsts[WARM_UP:]],
            [first[1] for first in firsts[WARM_UP:]],
            target=3,
            note="yardstick: a view with a key that finds nothing",
        ),
        Figure(
            f"an open stream, of {STREAMS}",
            ours,
            yardstick,
            unit="KB",
            note="yardstick: an open socket of a bare Channels consumer, of as many",
        ),
    ]


def _turn(house: House) -> tuple[float, float, float]:
    """Return milliseconds of a turn that parks, of the turn after an answer, and of the yardstick."""
    parked, paused = house.post({"input": "{}"}, "awaiting_human")
    call = paused["output"][-1]["call_id"]
    result = {"type": "function_call_output", "call_id": call, "output": "EU"}
    body = {"previous_response_id": paused["id"], "input": [result]}
    answered, _ = house.post(body, "ok")
    return parked, answered, house.bare() + house.trivial()


def _memory_of_streams(house: House) -> float:
    """Return the kilobytes of the web process per stream of a running response."""
    from agents import controls

    controls.pause_agent(agent_id=house.agent.pk, by=house.agent.owners.get())
    name = house.http.post("/responses", json={"input": "{}", "background": True}).json()["id"]
    limits = httpx.Limits(max_connections=STREAMS, max_keepalive_connections=0)
    headers = house.http.headers
    with (
        ExitStack() as streams,
        httpx.Client(limits=limits, headers=headers, timeout=PATIENCE) as http,
    ):
        url = f"{house.url}/v1/responses/{name}?stream=true"
        before = _rss(house.web)
        for _ in range(STREAMS):
            next(streams.enter_context(http.stream("GET", url)).iter_raw())
        return (_rss(house.web) - before) / STREAMS


def _memory_of_sockets(folder: Path) -> float:
    """Return the kilobytes per socket of a bare consumer."""
    from websockets.sync.client import connect

    with _echo(folder) as (url, pid), ExitStack() as sockets:
        before = _rss(pid)
        for _ in range(STREAMS):
            socket = sockets.enter_context(connect(f"{url.replace('http', 'ws', 1)}/ws/"))
            socket.send("x")
            socket.recv(PATIENCE)
        return (_rss(pid) - before) / STREAMS


def _rss(pid: int) -> float:
    """Return the memory of a process in kilobytes."""
    return float(subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)]))


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


@contextmanager
def _house(folder: Path) -> Iterator[House]:
    from tests.dispatch.world import Worker
    from tests.live_server import LiveServer

    web = LiveServer(folder / "web.log")
    worker = Worker(log=folder / "worker.log", env={})
    brain = folder / "brain.py"
    brain.write_text(BRAIN)
    command = [sys.executable, str(brain)]
    agent, token = _agent(command)
    try:
        web.start()
        worker.start()
        headers = {"Authorization": f"Bearer {token}"}
        base_url = f"{web.url}/v1"
        with httpx.Client(base_url=base_url, headers=headers, timeout=PATIENCE) as http:
            yield House(web.url, web.running.pid, command, folder, http, agent)
    finally:
        worker.end()
        web.stop()


def _agent(command: list[str]) -> tuple[Any, str]:
    from django.contrib.auth.models import User

    from agents.lifecycle import AgentState
    from agents.registration import register_agent
    from workspace.accounts import api_keys

    owner = User.objects.create_user("bench")
    agent = register_agent(
        slug="bench",
        owners=[owner],
        runtime_key="responses",
        settings={"command": command, "hitl": True},
        lifecycle=AgentState.ACTIVE,
    )
    scopes = ["run:create", "run:read", "ask:answer"]
    return agent, api_keys.create_key(name="bench", scopes=scopes, agent=agent, person=owner)[1]


@contextmanager
def _echo(folder: Path) -> Iterator[tuple[str, int]]:
    from tests.live_server import PROJECT, free_port
    from workspace.local.up import address_answers

    port = free_port()
    command = [sys.executable, "-m", "daphne", "-p", str(port), "bench.echo:application"]
    with (folder / "echo.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=PROJECT, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        while not address_answers(url, "/"):
            if process.poll() is not None:
                raise RuntimeError((folder / "echo.log").read_text())
            time.sleep(0.05)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()
