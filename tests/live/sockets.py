"""Sockets into the application of this process, as a browser would open them."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote

from asgiref.testing import ApplicationCommunicator

from tests.live.world import seqs
from workspace.asgi import application

#: Seconds that anything may take on a busy machine. Nothing is measured by it.
PATIENCE = 20.0
#: Seconds in which what must not come would have come.
A_WHILE = 0.4

HERE = {"host": "localhost", "origin": "http://localhost"}


#: Untyped. Not Channels' own communicator, which keeps database connections from being given back.
_Line: Any = ApplicationCommunicator


class Socket:
    """One open socket: read it in order, then close it."""

    def __init__(self, path: str, login: str = "", headers: dict[str, str] | None = None) -> None:
        sent = {**HERE, **(headers or {})}
        if login:
            sent["cookie"] = f"sessionid={login}"
        raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items() if value]
        address, _, query = path.partition("?")
        scope = {
            "type": "websocket",
            "path": unquote(address),
            "query_string": query.encode("latin-1"),
            "headers": raw,
            "subprotocols": [],
        }
        self._line = _Line(application, scope)

    async def open(self) -> bool:
        """Whether the handshake was accepted."""
        await self._line.send_input({"type": "websocket.connect"})
        output = await self._line.receive_output(PATIENCE)
        return bool(output["type"] == "websocket.accept")

    async def message(self) -> str:
        """The next message. Fails when the socket is closed instead."""
        output = await self._line.receive_output(PATIENCE)
        assert output["type"] == "websocket.send", output
        return str(output["text"])

    async def events(self, last: int) -> list[int]:
        """The numbers of all events that come until the one numbered ``last``."""
        found: list[int] = []
        async with asyncio.timeout(PATIENCE):  # heartbeats come for ever
            while last not in found:
                found += seqs(await self.message())
        return found

    async def close_code(self) -> int:
        """Why the server closes it; what is sent before is skipped."""
        async with asyncio.timeout(PATIENCE):
            while True:
                output: dict[str, Any] = await self._line.receive_output(PATIENCE)
                if output["type"] == "websocket.close":
                    return int(output["code"])

    async def is_silent(self) -> bool:
        return bool(await self._line.receive_nothing(A_WHILE))

    async def say(self, text: str) -> None:
        await self._line.send_input({"type": "websocket.receive", "text": text})

    async def leave(self) -> None:
        if not self._line.future.done():
            await self._line.send_input({"type": "websocket.disconnect", "code": 1005})
            await self._line.wait(PATIENCE)
