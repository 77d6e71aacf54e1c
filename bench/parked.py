"""Measure what 10,000 parked sessions cost: processes, threads, connections, memory and disk."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection

from agents.models import Agent, Event
from agents.registration import register_agent
from bench.copying import multiply
from bench.figures import Figure

PARKED = 10_000
SETTLING = 8  # seconds in which start-up, or ten thousand new rows, stop making work
TABLES = (
    "agents_session",
    "agents_run",
    "agents_event",
    "agents_inboxitem",
    "asks_ask",
    "asks_option",
)


def measure(runs: int) -> list[Figure]:
    from tests.live_server import LiveServer, ManagedProcess

    owner = User.objects.create(username="owner")
    agent = register_agent(
        slug="bench", owners=[owner], runtime_key="markers", settings={"command": ["true"]}
    )
    logs = Path(tempfile.mkdtemp())
    processes = [ManagedProcess("worker", log=logs / "worker"), LiveServer(logs / "web")]
    try:
        for process in processes:
            process.start()
        pids = [process.running.pid for process in processes]
        time.sleep(SETTLING)
        before = [_cost(pid) for pid in pids]
        connections_before, disk = _connections(), _disk()
        _park(agent, PARKED)
        time.sleep(SETTLING)
        after = [_cost(pid) for pid in pids]
        return _figures(before, after, connections_before, _disk() - disk)
    finally:
        for process in processes:
            process.stop()
        shutil.rmtree(logs)


def _park(agent: Agent, count: int) -> None:
    """Create parked sessions as copies of one that the real verbs parked."""
    from tests.factories import ask_something

    ask = ask_something(agent, prompt="Which ledger should October close against?")
    session, run = ask.session, ask.run
    sessions = multiply(session, f"generate_series(1, {count}) n", is_home="false")
    runs = multiply(run, "unnest(%s::bigint[]) s", [sessions], session_id="s")
    pairs = "unnest(%s::bigint[], %s::bigint[]) AS p(session_id, run_id)"
    same = {"session_id": "p.session_id", "run_id": "p.run_id"}
    for event in Event.objects.filter(session=session):
        multiply(event, pairs, [sessions, runs], **same, once_key="''")
    asks = multiply(ask, pairs, [sessions, runs], **same)
    for option in ask.options.all():
        multiply(option, "unnest(%s::bigint[]) a", [asks], ask_id="a")


Cost = tuple[float, int, int]


def _figures(
    before: list[Cost], after: list[Cost], connections_before: int, disk: float
) -> list[Figure]:
    rss = [[cost[0] for cost in costs] for costs in (after, before)]
    threads = sum(cost[1] for cost in after) - sum(cost[1] for cost in before)
    children = sum(cost[2] for cost in after) - sum(cost[2] for cost in before)
    return [
        Figure("10,000 parked: more processes", [children], unit="", target=0),
        Figure("10,000 parked: more threads", [threads], unit="", target=0),
        Figure(
            "10,000 parked: more connections",
            [_connections() - connections_before],
            unit="",
            target=0,
        ),
        Figure("10,000 parked: database each", [disk / PARKED / 1000], unit="kB", target=10),
        Figure("10,000 parked: memory after ÷ before", [sum(rss[0])], [sum(rss[1])], "MB", 1.1),
    ]


def _cost(pid: int) -> Cost:
    """Return memory in MB, threads and child processes, from /proc."""
    status = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(fields["VmRSS"].split()[0]) / 1000, int(fields["Threads"]), len(children)


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def _disk() -> float:
    with connection.cursor() as cursor:
        sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in TABLES)
        cursor.execute(f"SELECT {sizes}")
        return float(cursor.fetchone()[0])
