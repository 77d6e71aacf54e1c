"""Changes of one person's queue, computed once for all their open pages."""

from __future__ import annotations

import asyncio

from django.contrib.auth.models import User

from agents.db.retrying import in_database
from asks.queue.queries import count_badge
from workspace.pages.fragments import Changes, HeldCards, queue_changes


class QueueView:
    """One person's queue. Pages with the same cards share one read."""

    def __init__(self, person: User) -> None:
        self.person = person
        self.mark: tuple[object, ...] | None = None
        self._version = 0
        self._found: dict[HeldCards, Changes] = {}
        self._count: int | None = None
        self._reading = asyncio.Lock()

    def moved(self) -> None:
        """Discard what was read: the queue changed."""
        self._version += 1
        self._found.clear()
        self._count = None

    async def changes(self, have: HeldCards) -> Changes:
        """Return the changes from the cards in ``have`` to the present queue."""
        async with self._reading:
            if have in self._found:
                return self._found[have]
            version = self._version
            found = await in_database(queue_changes, self.person, have)
            if version == self._version:
                self._found[have] = found
            return found

    async def count(self) -> int:
        """Return the number of cards that wait for the person."""
        async with self._reading:
            if self._count is not None:
                return self._count
            version = self._version
            found = await in_database(count_badge, self.person)
            if version == self._version:
                self._count = found
            return found
