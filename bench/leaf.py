"""Measure leaf sessions over HTTP without model latency, against a trivial view.

The calls are park, a duplicate, resume and replay. The trivial view is an authenticated GET of the
same server that finds nothing. All are measured one at a time and by eight callers at once.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx

from bench.figures import Figure

AT_ONCE = 8
#: Sessions of each caller per sample, because at the end of a round some callers are idle.
EACH = 2
#: As with `manage.py up --workers 2`: a Python process uses at most one core.
WORKERS = 2
WARM_UP = 3
ITEM = {"item_id": "i1", "file": "a.py", "pattern": "eval(", "require_approval": True}
APPROVE = {"decision": {"gateId": 0, "action": "approve"}}
#: The highest acceptable cost of a step, in trivial views.
TARGETS = {"park": 10.0, "duplicate": 4.0, "resume": 10.0, "replay": 4.0}
PATIENCE = 60.0
ORIGINAL = "the original on such a machine: park 115, duplicate 15, resume 51, replay 13 ms"


@dataclass
class Samples:
    """Milliseconds of each kind of call."""

    of: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, name: str, began: float) -> None:
        self.of.setdefault(name, []).append((time.perf_counter() - began) * 1000)


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, _processes(Path(folder)) as base_url:
        caller = _Caller(base_url, _key())
        caller.all_at_once(WARM_UP * AT_ONCE)  # so that every worker has run a turn
        alone = caller.one_after_the_other(max(runs, 5) * 4)
        together = caller.all_at_once(max(runs, 5) * AT_ONCE * EACH)
    return [
        *_figures(alone, "alone"),
        *_figures(together, f"{AT_ONCE} at once"),
        _throughput(alone, together),
    ]


def _figures(samples: Samples, how: str) -> list[Figure]:
    trivial = samples.of["trivial"]
    return [
        Figure(
            f"leaf {name}, {how}",
            samples.of[name],
            trivial,
            target=target,
            note=f"p95 {_p95(samples.of[name]):.1f} ms, trivial p95 {_p95(trivial):.1f} ms; {ORIGINAL}",
        )
        for name, target in TARGETS.items()
    ]


def _throughput(alone: Samples, together: Samples) -> Figure:
    """Compare the time per cycle of eight callers with one: the target is below 1 / 1.5."""
    one, many = (_seconds_per_cycle(each) * 1000 for each in (alone, together))
    note = (
        f"{1000 / one:.1f} cycles/s alone, {1000 / many:.1f} with {AT_ONCE} callers, "
        f"{WORKERS} workers both times"
    )
    return Figure(
        f"leaf cycle, {AT_ONCE} at once ÷ alone", [many], [one], target=1 / 1.5, note=note
    )


def _seconds_per_cycle(samples: Samples) -> float:
    return samples.seconds / len(samples.of["park"])


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


class _Caller:
    """An orchestrator that keeps its connections."""

    def __init__(self, base_url: str, token: str) -> None:
        self._numbers = itertools.count()
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {token}"},
            limits=httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE),
            timeout=PATIENCE,
            trust_env=False,
        )

    def cycle(self, samples: Samples) -> None:
        """Run one session from its first call to a replay of its last, and a trivial view."""
        envelope = {"sessionId": f"bench/{next(self._numbers)}", "item": ITEM}
        steps: list[tuple[str, dict[str, Any], str]] = [
            ("park", envelope, "paused"),
            ("duplicate", envelope, "paused"),
            ("resume", envelope | APPROVE, "done"),
            ("replay", envelope, "done"),
        ]
        for name, body, expected in steps:
            began = time.perf_counter()
            response = self._http.post("/runs", json=body)
            samples.add(name, began)
            if response.status_code != 200 or response.json()["status"] != expected:
                raise RuntimeError(f"{name}: HTTP {response.status_code} {response.text[:500]}")
        began = time.perf_counter()
        self._http.get("/runs/status", params={"sessionId": "nobody"}).raise_for_status()
        samples.add("trivial", began)

    def one_after_the_other(self, cycles: int) -> Samples:
        def go(samples: Samples) -> None:
            for _ in range(cycles):
                self.cycle(samples)

        return self._timed(go)

    def all_at_once(self, cycles: int) -> Samples:
        def go(samples: Samples) -> None:
            with ThreadPoolExecutor(AT_ONCE) as threads:
                for done in [threads.submit(self.cycle, samples) for _ in range(cycles)]:
                    done.result()

        return self._timed(go)

    def _timed(self, work: Callable[[Samples], object]) -> Samples:
        samples, began = Samples(), time.perf_counter()
        work(samples)
        samples.seconds = time.perf_counter() - began
        return samples


def _key() -> str:
    from django.contrib.auth.models import User

    from agents.lifecycle import AgentState
    from agents.registration import register_agent
    from workspace.accounts.api_keys import create_key

    owner = User.objects.create(username="owner")
    agent = register_agent(
        slug="reviewer",
        owners=[owner],
        runtime_key="leaf",
        settings={"model": "scripted"},
        lifecycle=AgentState.ACTIVE,
    )
    scopes = ["run:create", "run:read", "ask:answer"]
    return create_key(name="bench", scopes=scopes, agent=agent, person=owner)[1]


@contextmanager
def _processes(folder: Path) -> Iterator[str]:
    """Run our web process and workers; yield the URL of the server."""
    from tests.live_server import free_port

    port = free_port()
    manage = [sys.executable, "manage.py"]
    commands = [
        (["web", "--port", str(port)], "Listening"),
        *[(["worker", "--concurrency", str(AT_ONCE)], "ready")] * WORKERS,
    ]
    started = []
    try:
        for number, (command, ready) in enumerate(commands):
            log = folder / f"log-{number}"
            with log.open("wb") as output:
                started.append(subprocess.Popen([*manage, *command], stdout=output, stderr=output))
            _wait(log, ready)
        yield f"http://127.0.0.1:{port}"
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=PATIENCE)


def _wait(log: Path, ready: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while ready not in log.read_text():
        if time.monotonic() > deadline:
            raise TimeoutError(f"A process did not start: {log.read_text()[-1000:]}")
        time.sleep(0.05)
