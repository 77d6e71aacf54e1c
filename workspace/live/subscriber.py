"""One socket as the hub knows it."""

from __future__ import annotations

import asyncio

from django.contrib.auth.models import User

#: Why the server closes a socket. NO_ACCESS: signed out, or not (any longer) an owner.
#: The browser stays away after each; daphne can send no code of those after which it comes back.
BAD_CURSOR, NO_ACCESS, NO_SUCH_STREAM, AHEAD, TOO_BIG = 4400, 4401, 4404, 4409, 4413


class Subscriber:
    """What a socket stands on, what it follows, and whether there is a reason to look.

    ``topics`` are the beginnings of the hints of agents.events.notify that concern it, such as ``s:12``.
    """

    def __init__(self, login: str, session_id: int | None = None) -> None:
        self.login = login
        self.session_id = session_id
        self.person: User | None = None
        self.topics: set[str] = set()
        self.ended: int | None = None
        self._news = asyncio.Event()

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    def wake(self) -> None:
        self._news.set()

    def end(self, code: int) -> None:
        """Have the socket closed with this code; the first reason stands."""
        if self.ended is None:
            self.ended = code
        self.wake()

    async def woken(self, seconds: float) -> bool:
        """Wait until there is a reason to look; False when there was none for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True
