"""Limit how long a turn with a remote server may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agents.running.runtime import Ended, TurnEvent


async def with_deadline(
    seconds: float, events: AsyncGenerator[TurnEvent, None], too_late: Callable[[], Ended]
) -> AsyncGenerator[TurnEvent, None]:
    """Yield a turn's events, and after ``seconds`` end it with ``too_late()``. The next continues."""
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
