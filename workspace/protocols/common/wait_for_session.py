"""Wait in a web request until a session changes, without polling the database constantly.

One thread per process listens to the notifications of ``agents.events.notify``. A request that
waits also polls a few times a second, so a lost notification costs a moment and never an answer.
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

#: Seconds between polls without a notification, and between attempts to connect.
LOOK_EVERY = 0.5
RETRY_EVERY = 1.0
_DJANGOS_OWN = ("pool", "context", "cursor_factory", "prepare_threshold")


class Wait:
    """A wait for changes of one session. See ``listen_to_session``."""

    def __init__(self, bell: threading.Event) -> None:
        self._bell = bell

    def until(self, state: T, look: Callable[[], T], patience: Callable[[T], float]) -> T:
        """Wait while ``patience(state)``, in seconds, is positive, and return the last state.

        ``state`` is the caller's own first look, and ``look`` takes the next ones. No database
        connection is held between them.
        """
        while (left := patience(state)) > 0:
            if not connection.in_atomic_block:
                connection.close()
            self._bell.wait(min(left, LOOK_EVERY))
            self._bell.clear()
            state = look()
        return state


@contextmanager
def listen_to_session(session_id: int) -> Iterator[Wait]:
    """Listen to a session. Look at it inside this context and then wait, and no change is missed."""
    with _ears.on(session_id) as bell:
        yield Wait(bell)


class _Ears:
    """The waits by session, and the thread that listens for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bells: defaultdict[int, set[threading.Event]] = defaultdict(set)
        self._thread: threading.Thread | None = None

    @contextmanager
    def on(self, session_id: int) -> Iterator[threading.Event]:
        """Yield an event that is set whenever a session may have changed."""
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
        params = connections["default"].get_connection_params()
        plain = {name: value for name, value in params.items() if name not in _DJANGOS_OWN}
        with psycopg.connect(**plain, autocommit=True) as ear:
            ear.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
            for notification in ear.notifies():
                self._ring(notification.payload)

    def _ring(self, payload: str) -> None:
        kind, _, rest = payload.partition(":")
        number = rest.partition(":")[0]
        if kind != "s" or not number.isdigit():
            return
        with self._lock:
            for bell in self._bells.get(int(number), ()):
                bell.set()


_ears = _Ears()
