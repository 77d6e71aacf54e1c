"""Ten thousand parked sessions: what they cost in processes, threads, connections, memory and disk."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection

from agents.registering import register_agent
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

#: A parked session as the verbs leave it: two events, one run that waits, one ask with two options.
_PARK = """
WITH s AS (
    INSERT INTO agents_session (agent_id, title, is_home, state, state_reason, status, status_reason,
        wake_cause, idle_streak, error_streak, last_outcome, last_seq, run_count, gate_count, open_asks,
        external_id, data)
    SELECT %s, '', false, 'active', '', 'WAITING_HUMAN', 'It asked a question. It holds no process.',
        'manual', 0, 0, 'BLOCKED', 4, 1, 0, 1, '', '{}' FROM generate_series(1, %s)
    RETURNING id),
r AS (
    INSERT INTO agents_run (session_id, number, status, cause, outcome, epoch, worker, process, open_asks,
        error, usage)
    SELECT id, 1, 'waiting_human', 'human', 'BLOCKED', 1, 'w', '{}', 1, '', '{}' FROM s
    RETURNING id, session_id),
e AS (
    INSERT INTO agents_event (session_id, run_id, seq, kind, actor, text, html, data, once_key)
    SELECT session_id, id, n, 'report', 'agent:bench', repeat('Reconciled a batch of entries. ', 8),
        repeat('<p>Reconciled a batch.</p>', 8), '{}', '' FROM r, generate_series(1, 4) n),
a AS (
    INSERT INTO asks_ask (session_id, run_id, agent_id, request_key, kind, prompt, prompt_html, free_text,
        money_critical, context, status, close_reason)
    SELECT session_id, id, %s, 'r1:1', 'question', 'Which ledger?', '<p>Which ledger?</p>', true, false,
        '{}', 'open', '' FROM r RETURNING id)
INSERT INTO asks_option (ask_id, key, label, detail, style, meaning, position)
SELECT id, 'o' || n, 'Option ' || n, '', 'default', 'answer', n FROM a, generate_series(0, 1) n
"""


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
        with connection.cursor() as cursor:
            cursor.execute(_PARK, [agent.pk, PARKED, agent.pk])
        time.sleep(SETTLING)
        after = [_cost(pid) for pid in pids]
        return _figures(before, after, connections_before, _disk() - disk)
    finally:
        for process in processes:
            process.stop()
        shutil.rmtree(logs)


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
    """Memory in MB, threads, and child processes, from /proc."""
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
