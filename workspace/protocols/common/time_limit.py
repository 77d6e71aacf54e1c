"""How long a turn with somebody else's server may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agents.running.runtime import Ended, TurnEvent


async def with_deadline(
    seconds: float, events: AsyncGenerator[TurnEvent, None], too_late: Callable[[], Ended]
) -> AsyncGenerator[TurnEvent, None]:
    """The turn's events; one that takes too long ends in words, and is followed on next time."""
    deadline = asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                yield too_late()
                return
            yield event
