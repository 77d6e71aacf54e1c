"""Talk to a Responses server: send a request, follow a response, fetch one.

Every failure is raised as one of the exceptions here, with a message for the agent's owner.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from httpx_sse import ServerSentEvent

from agents.text import json_input
from workspace.protocols.common import http_client
from workspace.protocols.common.http_client import GarbledReply, Json, ServerAway
from workspace.protocols.responses.client.settings import RemoteSettings
from workspace.protocols.responses.client.sse import TooLarge, read_events

#: The type of the event that stands for a whole response in JSON.
WHOLE = "whole"


class UnsureReply(Exception):
    """A request was sent and no reply came, so it is unknown whether the server accepted it."""


class ResponsesRefused(Exception):
    """The server rejects the request. ``status`` is the HTTP status, ``code`` the protocol's."""

    def __init__(self, words: str, status: int, code: str = "", param: str = "") -> None:
        super().__init__(words)
        self.status, self.code, self.param = status, code, param

    @property
    def forgot(self) -> bool:
        """Whether the server does not know the response that the request names."""
        return self.code == "previous_response_not_found" or (
            self.status == 404 and self.code != "model_not_found"
        )


class BrokenReply(Exception):
    """A stream broke. The events before that are valid."""


@dataclass
class ResponsesClient:
    """A server during one turn. ``left`` is the number of bytes that it may still send."""

    settings: RemoteSettings
    client: httpx.AsyncClient
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.settings.max_bytes

    async def send(self, body: Json, key: str) -> AsyncGenerator[Json, None]:
        """Create a response, and yield its events, or one event with the whole response.

        Raises ServerAway, UnsureReply, ResponsesRefused, BrokenReply and GarbledReply.
        """
        headers = {"Idempotency-Key": key}
        try:
            async with (
                self._call("POST", "/responses", json=body, headers=headers) as reply,
                aclosing(self._events(reply)) as events,
            ):
                async for event in events:
                    yield event
        except ServerAway as away:
            raise UnsureReply(str(away)) if away.may_have_taken else away from None
        except http_client.NOT_SENT as error:
            raise ServerAway(f"{self.settings.base_url} could not be reached.") from error
        except httpx.TransportError as error:
            raise UnsureReply(f"The connection to {self.settings.base_url} broke.") from error

    async def follow(self, name: str, after: int) -> AsyncGenerator[Json, None]:
        """Yield a response's events after a sequence number.

        Raises the same as ``send``, except UnsureReply.
        """
        query = {"stream": "true"} | ({"starting_after": str(after)} if after >= 0 else {})
        async with aclosing(self._get(f"/responses/{name}", query)) as events:
            async for event in events:
                yield event

    async def look(self, name: str) -> Json:
        """Fetch the current response. Raises ServerAway, ResponsesRefused and GarbledReply."""
        async with aclosing(self._get(f"/responses/{name}", {})) as events:
            async for event in events:
                response: Json = event["response"]
                return response
        raise GarbledReply("The server sent no response.")

    async def _get(self, path: str, query: dict[str, str]) -> AsyncGenerator[Json, None]:
        try:
            async with (
                self._call("GET", path, params=query) as reply,
                aclosing(self._events(reply)) as events,
            ):
                async for event in events:
                    yield event
        except httpx.TransportError as error:
            raise ServerAway(f"{self.settings.base_url} could not be reached.") from error

    @asynccontextmanager
    async def _call(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> AsyncGenerator[httpx.Response, None]:
        silence = http_client.timeouts(self.settings.silence_seconds)
        url, sent = f"{self.settings.base_url}{path}", {**self._headers(), **(headers or {})}
        async with self.client.stream(method, url, headers=sent, timeout=silence, **more) as reply:
            if reply.status_code != 200:
                raise await self._problem(reply)
            yield reply

    def _headers(self) -> dict[str, str]:
        return {"Accept": "*/*"} | http_client.bearer(self.settings.key_variable)

    async def _events(self, reply: httpx.Response) -> AsyncGenerator[Json, None]:
        if not reply.headers.get("content-type", "").startswith("text/event-stream"):
            yield {"type": WHOLE, "response": await self._whole(reply)}
            return
        try:
            async with aclosing(read_events(self._counted(reply))) as events:
                async for sent in events:
                    if (event := _event(sent)) is not None:
                        yield event
        except httpx.TransportError as error:
            raise BrokenReply("The stream broke in the middle.") from error
        except TooLarge as error:
            raise GarbledReply("An event of the server's stream is too large.") from error

    async def _whole(self, reply: httpx.Response) -> Json:
        raw = b""
        async for chunk in self._counted(reply):
            raw += chunk
        try:
            found = json_input.read_json(raw)
        except ValueError as error:
            raise GarbledReply("The server's reply is not JSON.") from error
        if not isinstance(found, dict) or not isinstance(found.get("id"), str):
            raise GarbledReply("The server's reply is not a response.")
        return found

    async def _counted(self, reply: httpx.Response) -> AsyncGenerator[bytes, None]:
        """Yield the body in chunks. Raises GarbledReply once a turn has received too much."""
        async for chunk in reply.aiter_bytes():
            self.left -= len(chunk)
            if self.left < 0:
                raise GarbledReply(f"The server sent more than {self.settings.max_bytes} bytes.")
            yield chunk

    async def _problem(self, reply: httpx.Response) -> Exception:
        """Return the error for a status other than 200."""
        error = _error_of(await http_client.shorten_reply(reply))
        said = str(error.get("message") or "").strip()[:500]
        words = f"The server says {reply.status_code}" + (f": {said}" if said else ".")
        code, param = str(error.get("code") or ""), str(error.get("param") or "")
        away = http_client.away_by_status(reply, words)
        return away or ResponsesRefused(words, reply.status_code, code, param)


def _event(sent: ServerSentEvent) -> Json | None:
    """Return an event's data; None if it is an end mark or not an object."""
    if sent.data.strip() == "[DONE]":
        return None
    try:
        found = json_input.read_json(sent.data)
    except ValueError as error:
        raise GarbledReply("The server's stream contains invalid JSON.") from error
    if not isinstance(found, dict):
        return None
    return {"type": sent.event, **found}


def _error_of(raw: bytes) -> Json:
    found = http_client.read_object(raw)
    error = found.get("error")
    return error if isinstance(error, dict) else {"message": error or found.get("detail")}
