"""One hub per web process and event loop: it receives every hint and wakes the sockets concerned.

A hint is only a reason to look: sockets read from their own cursors, so a lost hint costs seconds
and never an event. daphne has no start-up hook, so the hub starts with the first socket.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import aclosing
from weakref import WeakKeyDictionary

from django.contrib.auth.models import User

from agents.db.retrying import in_database
from agents.events.notify import login_digest
from workspace.live import access_checks, listener
from workspace.live.event_buffer import EventBuffer
from workspace.live.queue_view import QueueView
from workspace.live.subscriber import AHEAD, NO_ACCESS, Subscriber

log = logging.getLogger("workspace.live")

#: Seconds between two checks of all logins and rights that sockets depend on.
REVALIDATE = float(os.environ.get("LIVE_REVALIDATE_SECONDS", "30"))


class Hub:
    """The sockets of this process and their shared buffers. Used on its own event loop only."""

    def __init__(self) -> None:
        self.watchers: set[Subscriber] = set()
        self.tails: dict[int, EventBuffer] = {}
        self.desks: dict[int, QueueView] = {}
        #: Counts hints that rights may have changed.
        self.rights_moved = 0
        self._followers: defaultdict[str, set[Subscriber]] = defaultdict(set)
        self._tasks: list[asyncio.Task[None]] = []

    def join(self, watcher: Subscriber) -> None:
        """Subscribe a socket, at first only to the end of its login."""
        self.watchers.add(watcher)
        self._follow(watcher, f"x:{login_digest(watcher.login)}")
        self._start()

    def overhear(self, watcher: Subscriber, topic: str) -> None:
        """Wake a subscriber without a socket on the hints of a topic; it also polls."""
        self._follow(watcher, topic)
        self._start()

    def admit(self, watcher: Subscriber, person: User) -> None:
        """Subscribe a socket to its person's rights and to what it watches."""
        watcher.person = person
        self._follow(watcher, f"r:{person.pk}")
        watched = f"q:{person.pk}" if watcher.session_id is None else f"s:{watcher.session_id}"
        self._follow(watcher, watched)

    def leave(self, watcher: Subscriber) -> None:
        """Unsubscribe a socket and drop the buffers that nobody else uses."""
        self.watchers.discard(watcher)
        for topic in watcher.topics:
            self._followers[topic].discard(watcher)
            if not self._followers[topic]:
                del self._followers[topic]
        if watcher.session_id is not None and f"s:{watcher.session_id}" not in self._followers:
            self.tails.pop(watcher.session_id, None)
        if watcher.person is not None and f"q:{watcher.person.pk}" not in self._followers:
            self.desks.pop(watcher.person.pk, None)

    def tail(self, session_id: int, start: int) -> EventBuffer:
        """Return the session's buffer; a new one begins after event ``start``."""
        return self.tails.setdefault(session_id, EventBuffer(session_id, start))

    def desk(self, person: User) -> QueueView:
        return self.desks.setdefault(person.pk, QueueView(person))

    async def stop(self) -> None:
        """End the hub's own tasks. The next socket starts them again."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self) -> None:
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._listen()),
                asyncio.create_task(self._revalidate_for_ever()),
            ]

    def _follow(self, watcher: Subscriber, topic: str) -> None:
        watcher.topics.add(topic)
        self._followers[topic].add(watcher)

    async def _listen(self) -> None:
        async with aclosing(listener.listen_payloads()) as payloads:
            async for payload in payloads:
                await self._hear_safely(payload)

    async def _hear_safely(self, payload: str) -> None:
        try:
            await self._hear(payload)
        except Exception:
            log.exception("A hint was not followed: %s", payload)

    async def _hear(self, payload: str) -> None:
        """Handle one hint; ignore kinds that only a newer version knows."""
        kind, _, rest = payload.partition(":")
        if kind == "r" or payload == listener.LISTENING:
            self.rights_moved += 1
        if payload in {listener.LISTENING, listener.SAFETY_LOOK}:
            await self._look_everywhere()
        if payload == listener.LISTENING:
            await self._revalidate(self.watchers)
        elif kind == "s":
            self._session_moved(*map(int, rest.split(":")))
        elif kind == "q":
            self._queue_moved(int(rest))
        elif kind == "r":
            await self._revalidate(self._followers.get(payload, ()))
        elif kind == "x":
            _end(self._followers.get(payload, ()), NO_ACCESS)

    def _session_moved(self, session_id: int, seq: int) -> None:
        if tail := self.tails.get(session_id):
            tail.told(seq)
        _wake(self._followers.get(f"s:{session_id}", ()))

    def _queue_moved(self, user_id: int) -> None:
        if desk := self.desks.get(user_id):
            desk.moved()
        _wake(self._followers.get(f"q:{user_id}", ()))

    async def _look_everywhere(self) -> None:
        """Find changes whose hints may have been lost: three queries for all sockets."""
        before = {session_id: tail.last for session_id, tail in self.tails.items()}
        found = await in_database(access_checks.last_seqs, before)
        for session_id, last in before.items():
            self._session_moved(session_id, found.get(session_id, 0))
            if found.get(session_id, 0) < last:
                # An older database was restored: the pages show events that no longer exist.
                _end(self._followers.get(f"s:{session_id}", ()), AHEAD)
        marks = await in_database(access_checks.queue_marks, set(self.desks))
        for user_id, mark in marks.items():
            if (desk := self.desks.get(user_id)) and desk.mark != mark:
                desk.mark = mark
                self._queue_moved(user_id)

    async def _revalidate_for_ever(self) -> None:
        while True:
            await asyncio.sleep(REVALIDATE)
            try:
                await self._revalidate(self.watchers)
            except Exception:
                log.exception("Logins and rights were not looked at.")

    async def _revalidate(self, some: Iterable[Subscriber]) -> None:
        """Close the sockets of ended logins and lost rights, for which there may be no hint.

        Logins: two queries for all of them. Rights: one query for each person.
        """
        admitted = [watcher for watcher in some if watcher.person is not None]
        people = await in_database(access_checks.people_by_login, {w.login for w in admitted})
        of_person: defaultdict[User, list[Subscriber]] = defaultdict(list)
        for watcher in admitted:
            person = people.get(watcher.login)
            if person is None or person != watcher.person:
                watcher.end(NO_ACCESS)
            elif watcher.session_id is not None:
                of_person[person].append(watcher)
        for person, watchers in of_person.items():
            await self._check_rights(person, watchers)

    async def _check_rights(self, person: User, watchers: Collection[Subscriber]) -> None:
        watched = {watcher.session_id for watcher in watchers if watcher.session_id is not None}
        seen = await in_database(access_checks.sessions_seen_by, person, watched)
        _end((w for w in watchers if w.session_id not in seen), NO_ACCESS)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def live_hub() -> Hub:
    """Return the hub of the running event loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def socket_count() -> int:
    """Return the number of open sockets of this process."""
    return sum(len(each.watchers) for each in list(_hubs.values()))


def _wake(watchers: Iterable[Subscriber]) -> None:
    for watcher in watchers:
        watcher.wake()


def _end(watchers: Iterable[Subscriber], code: int) -> None:
    for watcher in watchers:
        watcher.end(code)
