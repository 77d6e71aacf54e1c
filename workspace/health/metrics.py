"""Count the work of this installation for Prometheus.

Every value but one comes from the database, so each web process reports the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.lifecycle import RunStatus
from workspace.health.alarms import alarms
from workspace.live.hub import socket_count

#: One statement, so that the figures belong together. Events are numbered without gaps, so their
#: number is the sum of the sessions' last numbers. The longest wait is that of the oldest open ask.
_FIGURES = """
SELECT (SELECT count(*) FROM asks_ask WHERE status = 'open'),
       (SELECT count(*) FROM agents_session WHERE status = 'BLOCKED' AND open_asks = 0),
       (SELECT count(DISTINCT s.agent_id)
          FROM agents_session s JOIN agents_agent a ON a.id = s.agent_id
          WHERE s.failing_since IS NOT NULL AND s.state <> 'ended' AND a.lifecycle = 'active'),
       (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)), 0)
          FROM asks_ask WHERE status = 'open'),
       (SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'),
       (SELECT coalesce(sum(last_seq), 0) FROM agents_session)
"""
_RUNS = "SELECT status, count(*) FROM agents_run GROUP BY status"


class WorkspaceCollector(Collector):
    """Read all metrics from the database when Prometheus asks, in four queries."""

    def collect(self) -> Iterator[Metric]:
        with connection.cursor() as cursor:
            cursor.execute(_FIGURES)
            asks, blocked, failing, waited, jobs, events = map(float, cursor.fetchone())
            cursor.execute(_RUNS)
            runs = dict(cursor.fetchall())
        yield _gauge("open_asks", "Asks that wait for a person.", asks)
        yield _gauge("blocked_sessions", "Sessions that are blocked without an open ask.", blocked)
        yield _gauge("failing_agents", "Agents that fail until an owner acts.", failing)
        found = alarms()
        yield _gauge(
            "unanswerable_asks",
            "Open asks that nobody may answer.",
            float(found.get("unanswerable_asks", 0)),
        )
        yield _gauge(
            "agents_without_owner",
            "Agents without an active owner.",
            float(found.get("agents_without_owner", 0)),
        )
        yield _gauge("oldest_wait_seconds", "How long the oldest open ask has waited.", waited)
        yield _gauge("queue_depth", "Jobs that wait for a worker.", jobs)
        yield _runs_by_status(runs)
        yield CounterMetricFamily("needs_you_events", "Events of all sessions.", value=events)
        yield _gauge("websockets", "Open sockets of this web process.", float(socket_count()))


def metrics_text() -> bytes:
    """Return every metric in the text format of Prometheus."""
    return generate_latest(REGISTRY)


def _gauge(name: str, description: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"needs_you_{name}", description, value=value)


def _runs_by_status(counts: dict[str, int]) -> GaugeMetricFamily:
    runs = GaugeMetricFamily("needs_you_runs", "Runs by status.", labels=["status"])
    for status in RunStatus.values:
        runs.add_metric([status], counts.get(status, 0))
    return runs


#: Our own registry: the default one adds figures of the Python process.
REGISTRY = CollectorRegistry()
REGISTRY.register(WorkspaceCollector())
