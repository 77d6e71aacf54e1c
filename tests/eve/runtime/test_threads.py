"""Tools that are plain functions run beside the event loop, and hold up nobody who stops waiting."""

from __future__ import annotations

import asyncio
import threading

import pytest

from workspace.protocols.eve.agent.threads import run_in_thread


async def test_it_returns_what_the_function_returns() -> None:
    assert await run_in_thread(lambda a, b: a + b, {"a": 1, "b": 2}) == 3


async def test_it_raises_what_the_function_raises() -> None:
    def broken() -> None:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(ZeroDivisionError, match="by nothing"):
        await run_in_thread(broken, {})


async def test_the_event_loop_goes_on_meanwhile() -> None:
    go = threading.Event()
    waiting = asyncio.ensure_future(run_in_thread(go.wait, {}))
    await asyncio.sleep(0)
    assert not waiting.done()
    go.set()
    assert await waiting is True


async def test_who_stops_waiting_is_not_held_up() -> None:
    go = threading.Event()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run_in_thread(go.wait, {}), 0.01)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "tool wait")
    go.set()
