"""Measure the Needs you page: queries, time against a trivial page, size, and a long history."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, override_settings

from agents.lifecycle import AgentState
from agents.models import Agent
from agents.registration import register_agent
from asks.models import Ask
from bench.copying import multiply
from bench.figures import Figure

CARDS = 50
FEW, MANY = 1_000, 1_000_000


def measure(runs: int) -> list[Figure]:
    owner = User.objects.create(username="owner")
    agent = _agent_with_cards(owner)
    client = Client()
    client.force_login(owner)
    with override_settings(
        ALLOWED_HOSTS=["testserver"], SECURE_SSL_REDIRECT=False, ROOT_URLCONF="bench.trivial"
    ):
        return _measure(client, agent, runs)


def _measure(client: Client, agent: Agent, runs: int) -> list[Figure]:
    client.get("/")
    queries: list[str] = []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        queries.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        body = client.get("/").content
    trivial = _times(lambda: client.get("/trivial"), runs)
    page = _times(lambda: client.get("/"), runs)
    _close_asks(agent, 0, FEW)
    with_few = _times(lambda: client.get("/"), runs)
    _close_asks(agent, FEW + 1, MANY)
    with_many = _times(lambda: client.get("/"), runs)
    return [
        Figure("needs you, 50 cards: queries", [len(queries)], unit="", target=12),
        Figure(
            "needs you, 50 cards: compressed",
            [len(gzip.compress(body)) / 1000],
            unit="kB",
            target=60,
        ),
        Figure("needs you, 50 cards ÷ a trivial signed-in page", page, trivial, target=6),
        Figure("needs you: 1,000,000 ÷ 1,000 closed asks", with_many, with_few, target=1.3),
    ]


def _times(work: Callable[[], object], runs: int) -> list[float]:
    work()
    samples = []
    for _ in range(runs * 3):
        start = time.perf_counter()
        work()
        samples.append((time.perf_counter() - start) * 1000)
    return samples


def _agent_with_cards(owner: User) -> Agent:
    from tests.factories import ask_something

    agent = register_agent(
        slug="bench",
        owners=[owner],
        runtime_key="markers",
        settings={"command": ["true"]},
        lifecycle=AgentState.ACTIVE,
    )
    for number in range(CARDS):
        ask_something(agent, prompt=f"Question **{number}**: which ledger, EU or US?")
    return agent


def _close_asks(agent: Agent, first: int, last: int) -> None:
    """Create closed asks with these numbers as copies of an open one."""
    numbers = f"generate_series({first}, {last}) n"
    multiply(
        Ask.objects.filter(agent=agent, status="open").earliest("pk"),
        numbers,
        request_key="'old:' || n",
        status="'withdrawn'",
        closed_at="now() - n * interval '1 second'",
    )
    with connection.cursor() as cursor:
        # A real history would have been vacuumed long ago.
        cursor.execute("VACUUM ANALYZE asks_ask")
        cursor.execute("CHECKPOINT")
