"""The LISTEN connection of a web process, with reconnects."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import psycopg
from django.db import connections
from psycopg import sql

from agents.events.notify import CHANNEL

log = logging.getLogger("workspace.live")

#: Seconds between checks of the database for lost hints.
SAFETY = 10.0
#: Seconds between attempts to connect: about the first, doubled up to about the last.
RETRY_FIRST, RETRY_LAST = 0.1, 5.0
#: Parameters of Django's connections that this one must not have: pool and row classes.
_DJANGOS_OWN = ("pool", "context", "cursor_factory", "prepare_threshold")

#: Yielded in addition to hints: earlier hints may be lost; SAFETY seconds have passed.
LISTENING, SAFETY_LOOK = "listening", "look"


async def listen_payloads() -> AsyncGenerator[str, None]:
    """Yield hint payloads, LISTENING after each (re)connect and SAFETY_LOOK every SAFETY seconds.

    Never ends. The database must be reached directly: a pooler in transaction mode swallows LISTEN.
    """
    failures = 0
    while True:
        try:
            async with aclosing(_listen()) as heard:
                async for payload in heard:
                    failures = 0
                    yield payload
        except (psycopg.Error, OSError) as error:
            log.warning("The LISTEN connection is gone (%s); connecting again.", error)
        except Exception:
            log.exception("Listening broke; beginning again.")
        failures += 1
        await asyncio.sleep(reconnect_pause(failures))


async def _listen() -> AsyncGenerator[str, None]:
    connection = await psycopg.AsyncConnection.connect(**_parameters(), autocommit=True)
    async with connection:
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        yield LISTENING
        while True:
            async for notification in connection.notifies(timeout=SAFETY):
                yield notification.payload
            yield SAFETY_LOOK


def _parameters() -> dict[str, Any]:
    """Return the parameters of Django's connection. Raises the errors of a wrong DATABASE_URL."""
    found = connections["default"].get_connection_params()
    return {name: value for name, value in found.items() if name not in _DJANGOS_OWN}


def reconnect_pause(failures: int) -> float:
    """Return the seconds to wait after a number of consecutive failures.

    Jitter keeps web processes from reconnecting to a restarted server all at once.
    """
    longest: float = min(RETRY_LAST, RETRY_FIRST * 2 ** min(failures, 10))
    return longest * random.uniform(0.5, 1)  # noqa: S311
