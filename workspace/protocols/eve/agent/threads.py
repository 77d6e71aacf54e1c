"""Runs a tool that is a plain function beside the event loop, in a thread of its own.

It is no thread of the worker's pool: a tool that takes long holds up neither database work nor a
worker that shuts down. Nothing can stop it, so whoever stops waiting does not know how it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from django.db import connections


async def run_in_thread(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What the function returns. Raises what it raises."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        try:
            result = function(**arguments)
        except BaseException as error:  # noqa: BLE001 -- it is raised again where it is waited for
            _tell(loop, done, done.set_exception, error)
        else:
            _tell(loop, done, done.set_result, result)
        finally:
            connections.close_all()

    threading.Thread(target=work, name=f"tool {function.__name__}", daemon=True).start()
    return await done


def _tell(
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[Any],
    how: Callable[[Any], None],
    what: Any,
) -> None:
    """Hand over how it ended, unless nobody waits for it any more."""

    def hand_over() -> None:
        if not done.done():
            how(what)

    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(hand_over)
