"""A socket's subscription in the hub."""

from __future__ import annotations

import asyncio

from django.contrib.auth.models import User

#: Close codes. NO_ACCESS: signed out, or not an owner (any more).
#: The browser does not reconnect after any of these; daphne cannot send the others.
BAD_CURSOR, NO_ACCESS, NO_SUCH_STREAM, AHEAD, TOO_BIG = 4400, 4401, 4404, 4409, 4413


class Subscriber:
    """A socket's login, its topics, and whether it should read.

    ``topics`` are the prefixes of its hints in agents.events.notify, such as ``s:12``.
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
        """Close the socket with this code; the first code wins."""
        if self.ended is None:
            self.ended = code
        self.wake()

    async def woken(self, seconds: float) -> bool:
        """Wait to be woken; return False after ``seconds`` without a wake."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True
