"""The one LISTEN connection of a web process, and what comes in over any number of reconnects."""

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

#: Seconds after which hints may have been lost without a trace, so the database is looked at.
SAFETY = 10.0
#: Seconds between attempts to connect: about the first, doubling up to about the last.
RETRY_FIRST, RETRY_LAST = 0.1, 5.0
#: What a connection of Django's has and one of our own must not: its pool and its row classes.
_DJANGOS_OWN = ("pool", "context", "cursor_factory", "prepare_threshold")

#: Yielded beside hints: those sent until now may have been missed; SAFETY seconds have passed.
LISTENING, SAFETY_LOOK = "listening", "look"


async def listen_payloads() -> AsyncGenerator[str, None]:
    """Each hint's payload; LISTENING after every (re)connect; SAFETY_LOOK every SAFETY seconds.

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
    """How Django's own connection is made. Raises what a wrong DATABASE_URL raises."""
    found = connections["default"].get_connection_params()
    return {name: value for name, value in found.items() if name not in _DJANGOS_OWN}


def reconnect_pause(failures: int) -> float:
    """Seconds to wait after so many failures in a row.

    Jittered, so that many web processes do not come back to a restarted server all at once.
    """
    longest: float = min(RETRY_LAST, RETRY_FIRST * 2 ** min(failures, 10))
    return longest * random.uniform(0.5, 1)  # noqa: S311
