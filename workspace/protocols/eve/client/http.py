"""Talk to an eve server: create a session, send to it, and read its stream.

Every failure is raised as one of the exceptions here, with a message for the agent's owner.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from urllib.parse import quote

import httpx

from workspace.protocols.common import http_client
from workspace.protocols.common.http_client import GarbledReply, Json, ServerAway
from workspace.protocols.eve.client.lines import BadLine, LineReader
from workspace.protocols.eve.client.settings import EveRemoteSettings

#: Codes and statuses of a session that the server does not know or no longer accepts.
_GONE_CODES = frozenset(
    {"session_not_active", "session_stranded", "session_expired", "stale_continuation_token"}
)
_GONE = frozenset({404, 410})
NOT_READY, NOT_READY_SECONDS = "session_not_ready", 1.0


class SessionGone(Exception):
    """The server does not know the session, or accepts nothing for it any more."""


class EveRefused(Exception):
    """The server rejects the request."""


@dataclass(frozen=True)
class MessageTaken:
    """A server's receipt of a message. ``token`` is empty in the current era."""

    session_id: str
    token: str


@dataclass
class EveClient:
    """A server during one turn. ``left`` is the number of bytes that it may still send."""

    settings: EveRemoteSettings
    client: httpx.AsyncClient
    version: int = 0
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.settings.max_bytes

    async def create(self, message: str) -> MessageTaken:
        """Create a session with its first message.

        Raises ServerAway, EveRefused and GarbledReply.
        """
        return await self._post("/session", {"message": message})

    async def send(self, session_id: str, body: Json) -> MessageTaken:
        """Send to a session. Raises ServerAway, SessionGone, EveRefused and GarbledReply."""
        return await self._post(f"/session/{quote(session_id, safe='')}", body)

    async def stream(
        self, session_id: str, start: int, *, follow: bool
    ) -> AsyncGenerator[Json, None]:
        """Yield a session's events from an index: the stored ones, or with ``follow`` also new ones.

        It ends when the server's stream ends or is silent. Raises ServerAway, SessionGone,
        EveRefused and GarbledReply.
        """
        path = f"/session/{quote(session_id, safe='')}/stream"
        query = {"startIndex": str(start)} | ({} if follow else {"follow": "false"})
        silence = self.settings.silence_seconds if follow else self.settings.settle_seconds
        reader, seen = LineReader(), start
        try:
            async with self.client.stream(
                "GET",
                self._url(path),
                params=query,
                headers=self._headers(),
                timeout=http_client.timeouts(silence),
            ) as reply:
                tail = await self._opened(reply)
                if not follow and tail is not None and seen > tail:
                    return
                async for chunk in reply.aiter_bytes():
                    for event in self._events(reader, chunk):
                        yield event
                        seen += 1
                    if not follow and tail is not None and seen > tail:
                        return
        except httpx.ReadTimeout:
            return
        except httpx.TransportError as error:
            raise ServerAway(f"{self.settings.base_url} could not be reached.") from error
        except BadLine as error:
            raise GarbledReply(str(error)) from error

    async def _opened(self, reply: httpx.Response) -> int | None:
        """Check the reply. Return the stream's last index if the server sends it."""
        if reply.status_code != 200:
            raise await self._problem(reply)
        if "json" not in reply.headers.get("content-type", ""):
            raise GarbledReply("The server's stream is not NDJSON.")
        self.version = _whole(reply.headers.get("x-eve-stream-version", "")) or self.version
        return _whole(reply.headers.get("x-eve-stream-tail-index", ""))

    def _events(self, reader: LineReader, chunk: bytes) -> list[Json]:
        """Return the events that a chunk completes, without the stream's control lines."""
        self.left -= len(chunk)
        if self.left < 0:
            raise GarbledReply(f"The server sent more than {self.settings.max_bytes} bytes.")
        return [event for event in reader.feed(chunk) if "$eve" not in event]

    async def _post(self, path: str, body: Json) -> MessageTaken:
        try:
            async with self.client.stream(
                "POST",
                self._url(path),
                json=body,
                headers=self._headers(),
                timeout=http_client.timeouts(self.settings.silence_seconds),
            ) as reply:
                if reply.status_code not in (200, 201, 202):
                    raise await self._problem(reply)
                return _taken(await http_client.shorten_reply(reply))
        except http_client.NOT_SENT as error:
            raise ServerAway(f"{self.settings.base_url} could not be reached.") from error
        except httpx.TransportError as error:
            words = f"The connection to {self.settings.base_url} broke."
            raise ServerAway(words, may_have_taken=True) from error

    def _url(self, path: str) -> str:
        return f"{self.settings.base_url}/eve/v1{path}"

    def _headers(self) -> dict[str, str]:
        # Some servers hold a compressed stream back until a block is full.
        plain = {"Accept": "*/*", "Accept-Encoding": "identity"}
        return plain | http_client.bearer(self.settings.key_variable)

    async def _problem(self, reply: httpx.Response) -> Exception:
        """Return the error for a status that is not a success."""
        error, status = (
            http_client.read_object(await http_client.shorten_reply(reply)),
            reply.status_code,
        )
        code, said = str(error.get("code") or ""), str(error.get("error") or "").strip()[:500]
        words = f"The server says {status}" + (f": {said}" if said else ".")
        if code == NOT_READY:
            return ServerAway(words, NOT_READY_SECONDS)
        if status in _GONE or code in _GONE_CODES:
            return SessionGone(words)
        return http_client.away_by_status(reply, words) or EveRefused(words)


def _taken(raw: bytes) -> MessageTaken:
    found = http_client.read_object(raw)
    session_id, token = found.get("sessionId"), found.get("continuationToken", "")
    if not isinstance(session_id, str) or not session_id or not isinstance(token, str):
        raise GarbledReply("The server's reply does not name a session.")
    return MessageTaken(session_id, token)


def _whole(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else None
