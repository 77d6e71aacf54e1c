"""Measure from an answer to its committed verdict, against the same SQL by bare psycopg.

Each sample has its own ask. The yardstick answers it once in a transaction that is rolled back, and
then sends the captured statements again in one transaction by psycopg.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import psycopg
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from agents.events import listeners
from agents.lifecycle import AgentState
from agents.models import Agent
from agents.registration import register_agent
from asks import answering
from asks.models import Ask
from bench.figures import Figure

NS_PER_MS = 1e6
WARM_UP = 3
TARGET = 5

_SEQUENCES = "SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences"
_SET_BACK = "SELECT setval(%s, %s)"


def measure(runs: int) -> list[Figure]:
    """Alternate between ours and the yardstick, so that noise affects both."""
    samples = _Samples()
    called, posted, bare = [], [], []
    for _ in range(runs + WARM_UP):
        called.append(samples.call())
        bare.append(samples.bare())
        posted.append(samples.post())
    return [
        Figure("answer() → verdict committed", called[WARM_UP:], bare[WARM_UP:], target=TARGET),
        Figure("POST of an answer → committed", posted[WARM_UP:], bare[WARM_UP:], target=TARGET),
        Figure("answer(): statements", [len(samples.statements)], unit=""),
    ]


class _Samples:
    def __init__(self) -> None:
        self._owner = User.objects.create(username="owner")
        self._agent = _agent_of(self._owner)
        self._client = Client()
        self._client.force_login(self._owner)
        self._psycopg = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        self._committed_at = 0
        self.statements: list[str] = []
        listeners.register_listener(lambda *_: transaction.on_commit(self._stamp))

    def _stamp(self) -> None:
        self._committed_at = time.perf_counter_ns()

    def call(self) -> float:
        """Return the milliseconds of the verb."""
        ask = self._ask()
        return self._until_committed(lambda: self._answer(ask))

    def post(self) -> float:
        """Return the milliseconds of the page's form, through all middleware."""
        address = f"/asks/{self._ask().pk}/answer"
        with override_settings(ALLOWED_HOSTS=["testserver"], SECURE_SSL_REDIRECT=False):
            return self._until_committed(lambda: self._client.post(address, {"option": "eu"}))

    def _until_committed(self, work: Callable[[], object]) -> float:
        started = time.perf_counter_ns()
        work()
        if self._committed_at < started:
            raise RuntimeError("The measured work was not committed.")
        return (self._committed_at - started) / NS_PER_MS

    def bare(self) -> float:
        """Return the milliseconds of the same statements alone."""
        self.statements = self._statements_of(self._ask())
        started = time.perf_counter_ns()
        with self._psycopg.transaction(), self._psycopg.cursor() as cursor:
            for statement in self.statements:
                cursor.execute(statement.encode())
                if cursor.description:
                    cursor.fetchall()
        return (time.perf_counter_ns() - started) / NS_PER_MS

    def _statements_of(self, ask: Ask) -> list[str]:
        """Return the statements of an answer. Sequences are reset, so that they can run again."""
        with connection.cursor() as cursor:
            cursor.execute(_SEQUENCES)
            numbers = cursor.fetchall()
        with CaptureQueriesContext(connection) as sent, transaction.atomic():
            self._answer(ask)
            transaction.set_rollback(True)
        with connection.cursor() as cursor:
            cursor.executemany(_SET_BACK, [row for row in numbers if row[1] is not None])
        words = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")
        return [query["sql"] for query in sent if not query["sql"].startswith(words)]

    def _ask(self) -> Ask:
        from tests.factories import ask_something

        return ask_something(self._agent)

    def _answer(self, ask: Ask) -> None:
        result = answering.answer_ask(ask_id=ask.pk, by=self._owner, option="eu")
        if not isinstance(result, answering.Answered):
            raise TypeError(f"The answer was not accepted: {result}.")


def _agent_of(owner: User) -> Agent:
    return register_agent(
        slug="bench",
        owners=[owner],
        runtime_key="markers",
        settings={"command": ["true"]},
        lifecycle=AgentState.ACTIVE,
    )
