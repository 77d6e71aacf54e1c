"""Run a synchronous tool in its own daemon thread.

The thread does not belong to the worker's pool, so a slow tool delays neither database work nor the
shutdown of the worker. A thread cannot be stopped: after a timeout the tool's result is unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from django.db import connections


async def run_in_thread(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function in a new thread. Return its result, or raise its exception."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        try:
            result = function(**arguments)
        except BaseException as error:  # noqa: BLE001 -- raised again by the caller that awaits it
            _resolve(loop, done, done.set_exception, error)
        else:
            _resolve(loop, done, done.set_result, result)
        finally:
            connections.close_all()

    threading.Thread(target=work, name=f"tool {function.__name__}", daemon=True).start()
    return await done


def _resolve(
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[Any],
    setter: Callable[[Any], None],
    value: Any,
) -> None:
    """Resolve the future on its event loop, unless the caller stopped waiting."""

    def set_if_pending() -> None:
        if not done.done():
            setter(value)

    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(set_if_pending)
