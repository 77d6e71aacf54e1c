"""Waiting in a web request until something moves in a session, without asking the database all the time.

One thread per process hears the hints of ``agents.events.notify``. A hint is only a reason to look: whoever
waits looks by itself too, a few times a second, so a lost one costs moments and never an answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg
from django.db import connection, connections
from psycopg import sql

from agents.events.notify import CHANNEL

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds after which one who waits looks without a hint, and between attempts to connect.
LOOK_EVERY = 0.5
RETRY_EVERY = 1.0
_DJANGOS_OWN = ("pool", "context", "cursor_factory", "prepare_threshold")


class Wait:
    """Waits for one session. See ``listen_to_session``."""

    def __init__(self, bell: threading.Event) -> None:
        self._bell = bell

    def until(self, found: T, look: Callable[[], T], patience: Callable[[T], float]) -> T:
        """What ``look`` finds once there is no patience left for waiting on, in seconds.

        ``found`` is what the caller has found itself. Nothing of the database is held meanwhile.
        """
        while (left := patience(found)) > 0:
            if not connection.in_atomic_block:
                connection.close()
            self._bell.wait(min(left, LOOK_EVERY))
            self._bell.clear()
            found = look()
        return found


@contextmanager
def listen_to_session(session_id: int) -> Iterator[Wait]:
    """Hear of a session. Whoever looks at it after this and then waits misses nothing."""
    with _ears.on(session_id) as bell:
        yield Wait(bell)


class _Ears:
    """Who waits for which session, and the thread that listens for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bells: defaultdict[int, set[threading.Event]] = defaultdict(set)
        self._thread: threading.Thread | None = None

    @contextmanager
    def on(self, session_id: int) -> Iterator[threading.Event]:
        """An event that is set whenever something may have happened in a session."""
        bell = threading.Event()
        with self._lock:
            self._bells[session_id].add(bell)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._listen_for_ever, name="hints", daemon=True
                )
                self._thread.start()
        try:
            yield bell
        finally:
            with self._lock:
                self._bells[session_id].discard(bell)
                if not self._bells[session_id]:
                    del self._bells[session_id]

    def _listen_for_ever(self) -> None:
        while True:
            try:
                self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("The LISTEN connection is gone (%s); connecting again.", error)
            time.sleep(RETRY_EVERY)

    def _listen(self) -> None:
        found = connections["default"].get_connection_params()
        given = {name: value for name, value in found.items() if name not in _DJANGOS_OWN}
        with psycopg.connect(**given, autocommit=True) as ear:
            ear.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
            for hint in ear.notifies():
                self._ring(hint.payload)

    def _ring(self, payload: str) -> None:
        kind, _, rest = payload.partition(":")
        number = rest.partition(":")[0]
        if kind != "s" or not number.isdigit():
            return
        with self._lock:
            for bell in self._bells.get(int(number), ()):
                bell.set()


_ears = _Ears()
