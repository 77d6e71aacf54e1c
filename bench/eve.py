"""Measure eve's server with a model that takes no time: parks and answers, readers, and memory.

Parks and answers per second by several callers at once are compared with a view of the same server
that needs a key and reads something small. An event at 200 readers of a session is compared with 200
bare streams of an application that only forwards what is posted to it. A sample of the yardstick
follows each sample of ours.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.figures import Figure
from bench.readers import Readers, following

CALLERS = 8
#: As with `manage.py up --workers 2`: a Python process uses at most one core.
WORKERS = 2
EACH_ROUND = 80
READERS = 200
PARKED = 300
PATIENCE = 60.0
SETTLING = 5.0
REFUND = 'call refund {"chargeId":"ch_1","amount":12.5}'
MARK = b'"session.waiting"'


@dataclass(frozen=True)
class Parked:
    """A waiting session, the end of its stream, and the id of its question."""

    session_id: str
    index: int
    request_id: str


@dataclass
class House:
    """A web process and its workers, and callers that keep their connections."""

    url: str
    pids: list[int]
    token: str
    http: httpx.Client

    def park(self) -> Parked:
        made = self.http.post("/session", json={"message": REFUND}).raise_for_status().json()
        events = self._until_rest(made["sessionId"], 0)
        asked = next(event for event in events if event["type"] == "input.requested")
        return Parked(made["sessionId"], len(events), asked["data"]["requests"][0]["requestId"])

    def answer(self, parked: Parked) -> None:
        body = {"inputResponses": [{"requestId": parked.request_id, "optionId": "approve"}]}
        self.http.post(f"/session/{parked.session_id}", json=body).raise_for_status()
        events = self._until_rest(parked.session_id, parked.index)
        if not any(event["type"] == "action.result" for event in events):
            raise RuntimeError(f"the approved call did not run: {events}")

    def trivial(self) -> None:
        self.http.get("/info").raise_for_status()

    def _until_rest(self, session_id: str, start: int) -> list[dict[str, Any]]:
        """Return the events from an index until the session waits again."""
        received, path = b"", f"/session/{session_id}/stream?startIndex={start}"
        with self.http.stream("GET", path) as sent:
            for chunk in sent.iter_raw():
                received += chunk
                if MARK in received and received.endswith(b"\n"):
                    break
        return [json.loads(line) for line in received.split(b"\n") if line]


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, _house(Path(folder)) as house:
        rounds = [_round(house) for _ in range(runs + 1)][1:]
        fans = asyncio.run(_fans(house, Path(folder), max(runs * 3, 15)))
        memory = _memory(house)
    trivial = [each[2] for each in rounds]
    note = (
        f"{CALLERS} callers at once, {WORKERS} workers; "
        "yardstick: as many GETs of something small with a key"
    )
    return [
        Figure("eve: a park", [each[0] for each in rounds], trivial, target=10, note=note),
        # 10 before each verb wrote its rows where they change; the reader was worth the rest.
        Figure("eve: an answer", [each[1] for each in rounds], trivial, target=11, note=note),
        Figure(
            f"eve: an event at {READERS} readers",
            [fan[0] for fan in fans],
            [fan[1] for fan in fans],
            target=3,
            note="yardstick: as many bare streams",
        ),
        Figure(
            f"eve: {PARKED} parked: memory after ÷ before",
            [memory[1]],
            [memory[0]],
            unit="MB",
            target=1.02,
            note="web process and workers together, after as many parks before",
        ),
    ]


def _round(house: House) -> tuple[float, float, float]:
    """Return milliseconds of a park, an answer and the yardstick, at the rate of all callers."""
    parked: list[Parked] = []
    took = _at_once(EACH_ROUND, lambda _: parked.append(house.park()))
    answered = _at_once(EACH_ROUND, lambda place: house.answer(parked[place]))
    return took, answered, _at_once(EACH_ROUND * 2, lambda _: house.trivial())


def _at_once(times: int, work: Callable[[int], None]) -> float:
    """Return the milliseconds per call of a number of calls, several at once."""
    began = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(work, range(times)))
    return (time.perf_counter() - began) * 1000 / times


async def _fans(house: House, folder: Path, samples: int) -> list[tuple[float, float]]:
    parked = await asyncio.to_thread(house.park)
    path = f"{house.url}/eve/v1/session/{parked.session_id}/stream?startIndex={parked.index}"
    headers = {"Authorization": f"Bearer {house.token}"}
    with _bare(folder) as bare:
        async with (
            following(path, MARK, READERS, headers) as ours,
            following(f"{bare}/stream?all", MARK, READERS) as theirs,
        ):
            await ours.settle(SETTLING)
            pairs = [await _pair(ours, theirs, parked.session_id, bare) for _ in range(samples + 3)]
    return pairs[3:]


async def _pair(ours: Readers, theirs: Readers, session_id: str, bare: str) -> tuple[float, float]:
    await ours.settle(0.1)
    mine = await ours.arrival(lambda: _say_here(session_id))
    line = b'{"type":"session.waiting","data":{"filler":"' + b"x" * 150 + b'"}}\n'

    def post() -> float:
        began = time.time()
        httpx.post(f"{bare}/say", content=line)
        return began

    await ours.settle(0.1)
    return mine, await theirs.arrival(post)


def _say_here(session_id: str) -> float:
    """Write an event of the session as its server does; return the time of its commit."""
    from django.db import connection, transaction

    from agents.locking import lock_session
    from workspace.protocols.eve.models import EveSession
    from workspace.protocols.eve.server import notes

    committed: list[float] = []
    opened = EveSession.objects.get(public_id=session_id)
    with transaction.atomic():
        transaction.on_commit(lambda: committed.append(time.time()))
        notes.note_at_rest(lock_session(opened.session_id))
    connection.close()
    return committed[0]


def _memory(house: House) -> tuple[float, float]:
    """Return the megabytes before and after parking sessions, with warm caches."""
    _at_once(PARKED, lambda _: _parked(house))
    time.sleep(SETTLING)
    before = _rss(house)
    _at_once(PARKED, lambda _: _parked(house))
    time.sleep(SETTLING)
    return before, _rss(house)


def _parked(house: House) -> None:
    house.park()


def _rss(house: House) -> float:
    return sum(
        float(subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)])) / 1000
        for pid in house.pids
    )


@contextmanager
def _house(folder: Path) -> Iterator[House]:
    from tests.dispatch.world import Worker
    from tests.live_server import LiveServer

    token = _agent()
    web = LiveServer(folder / "web.log")
    workers = [Worker(log=folder / f"worker-{number}.log", env={}) for number in range(WORKERS)]
    try:
        web.start()
        for worker in workers:
            worker.start()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"{web.url}/eve/v1", headers=headers, timeout=PATIENCE) as http:
            yield House(web.url, [web.running.pid, *(one.pid for one in workers)], token, http)
    finally:
        for worker in workers:
            worker.end()
        web.stop()


def _agent() -> str:
    from django.contrib.auth.models import User

    from agents.lifecycle import AgentState
    from agents.registration import register_agent
    from workspace.accounts import api_keys

    owner = User.objects.create_user("bench")
    agent = register_agent(
        slug="bench",
        owners=[owner],
        runtime_key="eve",
        settings={"agent": "workspace.demo.eve_agents:conformance"},
        lifecycle=AgentState.ACTIVE,
    )
    scopes = ["run:create", "run:read", "ask:answer"]
    return api_keys.create_key(name="bench", scopes=scopes, agent=agent, person=owner)[1]


@contextmanager
def _bare(folder: Path) -> Iterator[str]:
    from tests.live_server import PROJECT, free_port
    from workspace.local.up import address_answers

    port = free_port()
    command = [sys.executable, "-m", "daphne", "-p", str(port), "bench.bare_streams:application"]
    with (folder / "bare.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=PROJECT, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        while not address_answers(url, "/"):
            if process.poll() is not None:
                raise RuntimeError((folder / "bare.log").read_text())
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()
