"""What there is to count, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection

from agents.lifecycle import RunStatus
from workspace.live.hub import socket_count

#: One statement, so that the figures belong together. Events are numbered without gaps, so their
#: number is the sum of the sessions' newest; waits are the oldest open ask's.
_FIGURES = """
SELECT (SELECT count(*) FROM asks_ask WHERE status = 'open'),
       (SELECT count(*) FROM agents_session WHERE status = 'BLOCKED' AND open_asks = 0),
       (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)), 0)
          FROM asks_ask WHERE status = 'open'),
       (SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'),
       (SELECT coalesce(sum(last_seq), 0) FROM agents_session)
"""
_RUNS = "SELECT status, count(*) FROM agents_run GROUP BY status"


@dataclass(frozen=True)
class Metric:
    """One metric; its values by label, such as ``{status="queued"}``, or by no label."""

    name: str
    kind: str
    help: str
    values: dict[str, float] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for label, value in self.values.items():
            yield f"{self.name}{label} {value:.17g}"


def metrics_text() -> str:
    """Every metric, one line per value."""
    return "".join(f"{line}\n" for metric in collect() for line in metric.lines())


def collect() -> list[Metric]:
    with connection.cursor() as cursor:
        cursor.execute(_FIGURES)
        asks, blocked, waited, jobs, events = map(float, cursor.fetchone())
        cursor.execute(_RUNS)
        found = dict(cursor.fetchall())
    runs = {f'{{status="{status}"}}': float(found.get(status, 0)) for status in RunStatus.values}
    return [
        _gauge("open_asks", "Asks that wait for a person.", asks),
        _gauge("blocked_sessions", "Sessions that are blocked and asked nothing.", blocked),
        _gauge("oldest_wait_seconds", "How long the oldest open ask has waited.", waited),
        _gauge("queue_depth", "Jobs that wait for a worker.", jobs),
        Metric("needs_you_runs", "gauge", "Runs by status.", runs),
        Metric("needs_you_events_total", "counter", "Events of all sessions.", {"": events}),
        _gauge("websockets", "Sockets that this web process has open.", float(socket_count())),
    ]


def _gauge(name: str, words: str, value: float) -> Metric:
    return Metric(f"needs_you_{name}", "gauge", words, {"": value})
