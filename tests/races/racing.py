"""Run two verbs on two real connections, in an order that is checked, not hoped for.

The first verb has done its work but not committed. The second runs in its own thread. Before the
first continues, PostgreSQL itself confirms that the second waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import connection, connections, transaction

T = TypeVar("T")
U = TypeVar("U")

#: The longest wait, in seconds: reaching it means "never".
PATIENCE = 60.0
LOOK_AGAIN = 0.005


class Beside(Generic[T]):
    """A verb in its own thread, with its own connection."""

    def __init__(self, verb: Callable[[], T]) -> None:
        self._verb = verb
        self._pid: int | None = None
        self._connected = threading.Event()
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self._pid = cursor.fetchone()[0]
            self._connected.set()
            self._outcome.append(self._verb())
        except BaseException as error:  # noqa: BLE001 -- raised again where the test looks
            self._error = error
        finally:
            self._connected.set()
            connections.close_all()

    def wait_until_blocked(self) -> None:
        """Wait until the other connection is blocked by ours."""
        assert self._connected.wait(PATIENCE)
        for _ in range(int(PATIENCE / LOOK_AGAIN)):
            if self._waits_for_a_lock():
                return
            self._thread.join(LOOK_AGAIN)
            assert self._thread.is_alive(), f"it did not wait: {self._outcome or self._error!r}"
        raise AssertionError("it was never seen waiting")

    def _waits_for_a_lock(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [self._pid])
            return bool(cursor.fetchone()[0])

    def result(self) -> T:
        """Wait for the verb; return its result, or raise its exception."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "it never ended"
        if self._error is not None:
            raise self._error
        return self._outcome[0]


@dataclass(frozen=True)
class Raced(Generic[T, U]):
    first: T
    second: U


def race(first: Callable[[], T], second: Callable[[], U]) -> Raced[T, U]:
    """Start the second verb, check that it waits for the first one's commit, then commit."""
    with transaction.atomic():
        done = first()
        other = Beside(second)
        other.wait_until_blocked()
    return Raced(done, other.result())


def pass_by(first: Callable[[], T], second: Callable[[], U]) -> Raced[T, U]:
    """Run the second verb to its end before the first commits: it must not wait."""
    with transaction.atomic():
        done = first()
        other = Beside(second)
        result = other.result()
    return Raced(done, result)
