"""The socket at which a turn's command takes the grants of what was approved (``approved_tools``).

Whoever stands at it is the turn's own command or a child of that: the folder is theirs alone. A
grant is written down as taken, and committed, before the answer goes out; a command that is killed
in between has taken it all the same, and the owner is asked what became of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from agents.db.retrying import in_database
from agents.running.runtime import Turn
from agents.text import json_input
from asks.actions import grants

#: Bytes of a line; params of an action are much shorter.
LONGEST = 1024 * 1024


class Book(Protocol):
    """Where it is written down what is taken."""

    async def take(self, operation: str, params: Any) -> int | None:
        """Take the grant for exactly this: its number, or None if there is none left."""
        ...

    async def end(self, number: int, *, happened: bool) -> None:
        """Write down how it ended."""
        ...


class GrantsOfTurn:
    """The grants of a turn's session, as long as its claim holds."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._begun: dict[int, grants.Begun] = {}

    async def take(self, operation: str, params: Any) -> int | None:
        begun = await in_database(
            grants.begin_effect,
            session_id=self._turn.session_id,
            operation=operation,
            params=params,
            fence=self._turn.fence,
            quiet=True,
        )
        if begun is None:
            return None
        self._begun[begun.redemption_id] = begun
        return begun.redemption_id

    async def end(self, number: int, *, happened: bool) -> None:
        if begun := self._begun.pop(number, None):
            words = "The agent said so."
            await in_database(grants.finish_effect, begun, happened=happened, detail=words)


Books = Callable[[Turn], Book]


@asynccontextmanager
async def socket_for(book: Book, folder: Path) -> AsyncIterator[str]:
    """The path of a socket that gives grants; "" if it cannot be had: then nothing is given."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with (
            contextlib.closing(writer),
            contextlib.suppress(ConnectionError, asyncio.LimitOverrunError),
        ):
            said = await _answer(book, await reader.readline())
            writer.write(json.dumps(said).encode() + b"\n")
            await writer.drain()

    path = folder / "grants"
    try:
        server = await asyncio.start_unix_server(answer, path, limit=LONGEST)
    except OSError:  # such as a path that is too long for a socket
        yield ""
        return
    try:
        yield str(path)
    finally:
        server.close()


async def _answer(book: Book, line: bytes) -> object:
    """The number of what is taken, true for an end, null for what makes no sense."""
    try:
        asked = json_input.read_json(line)
        if isinstance(asked.get("take"), str):
            return await book.take(asked["take"], asked["params"])
        if type(asked["end"]) is int:
            await book.end(asked["end"], happened=asked["happened"] is True)
            return True
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    return None
