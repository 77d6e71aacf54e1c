"""Browsers without a page: raw websocket clients of a real web process."""

from __future__ import annotations

import asyncio
import contextlib
import random

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.live.sockets import PATIENCE
from tests.live.world import seqs
from tests.live_server import LiveServer


def opened(server: LiveServer, path: str, login: str = "", origin: str | None = "") -> connect:
    """A connection to be awaited or entered. ``origin`` is the server's own unless given."""
    return connect(
        f"ws://127.0.0.1:{server.port}{path}",
        origin=server.url if origin == "" else origin,  # type: ignore[arg-type]
        additional_headers={"Cookie": f"sessionid={login}"} if login else {},
        proxy=None,
        open_timeout=PATIENCE,
        close_timeout=1,
        max_size=None,
    )


async def close_code(socket: ClientConnection) -> int | None:
    """The code with which the server closes this socket."""
    async with asyncio.timeout(PATIENCE):
        await socket.wait_closed()
    return socket.close_code


class Follower:
    """Follows a session from the last event it has seen, over any number of connections."""

    def __init__(self, server: LiveServer, session_id: int, login: str, *, cursor: int) -> None:
        self.server, self.session_id, self.login = server, session_id, login
        self.cursor = cursor
        self.seen: list[int] = []
        self.connections = 0

    async def until(self, last: int, *, drops: float = 0.0) -> list[int]:
        """Everything it is sent until event ``last``; it drops the line now and then by chance."""
        while self.cursor < last:
            with contextlib.suppress(OSError, InvalidHandshake, ConnectionClosed, TimeoutError):
                await self._follow(last, drops)
            await asyncio.sleep(random.uniform(0, 0.1))  # noqa: S311
        return self.seen

    async def _follow(self, last: int, drops: float) -> None:
        path = f"/ws/sessions/{self.session_id}/?after={self.cursor}"
        async with opened(self.server, path, self.login) as socket:
            self.connections += 1
            while self.cursor < last:
                self._take(str(await socket.recv()))
                if random.random() < drops:  # noqa: S311
                    socket.transport.abort()
                    return

    def _take(self, message: str) -> None:
        found = seqs(message)
        self.seen += found
        self.cursor = found[-1] if found else self.cursor
