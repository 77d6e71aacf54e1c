"""The socket through which a turn's command redeems its grants (client: ``approved_tools``).

Only the turn's command and its children can connect, because the folder is private to them. A grant
is committed as used before the response is sent. If the command is killed in between, the grant
stays used, and the owner is asked what happened.
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

#: Most bytes of a line. The params of an action are much shorter.
LONGEST = 1024 * 1024


class Book(Protocol):
    """Records which grants are redeemed."""

    async def take(self, operation: str, params: Any) -> int | None:
        """Redeem a grant for exactly this. Return its number, or None if there is none left."""
        ...

    async def end(self, number: int, *, happened: bool) -> None:
        """Record how it ended."""
        ...


class GrantsOfTurn:
    """The grants of a turn's session, while the turn's claim holds."""

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
            detail = "Reported by the agent."
            await in_database(grants.finish_effect, begun, happened=happened, detail=detail)


Books = Callable[[Turn], Book]


@asynccontextmanager
async def socket_for(book: Book, folder: Path) -> AsyncIterator[str]:
    """Yield the path of a grant socket, or "" if it cannot be opened: then nothing is granted."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with (
            contextlib.closing(writer),
            contextlib.suppress(ConnectionError, asyncio.LimitOverrunError),
        ):
            response = await _answer(book, await reader.readline())
            writer.write(json.dumps(response).encode() + b"\n")
            await writer.drain()

    path = folder / "grants"
    try:
        server = await asyncio.start_unix_server(answer, path, limit=LONGEST)
    except OSError:  # for example, a path that is too long for a socket
        yield ""
        return
    try:
        yield str(path)
    finally:
        server.close()


async def _answer(book: Book, line: bytes) -> object:
    """Return the number of the redeemed grant, True for a recorded end, None for a bad request."""
    try:
        request = json_input.read_json(line)
        if isinstance(request.get("take"), str):
            return await book.take(request["take"], request["params"])
        if type(request["end"]) is int:
            await book.end(request["end"], happened=request["happened"] is True)
            return True
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    return None
