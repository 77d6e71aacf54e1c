"""Reads a remote agent's stream: what is there, or on until the agent rests. Never for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from workspace.protocols.common.http_client import GarbledReply, ServerAway
from workspace.protocols.eve.client.decoder import EveDecoder, Told
from workspace.protocols.eve.client.http import EveClient, SessionGone
from workspace.protocols.eve.client.settings import EveRemoteSettings

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


async def look_at_stream(
    server: EveClient, session_id: str, hearing: EveDecoder
) -> AsyncGenerator[Told, None]:
    """What is on the stream by now. Raises Away, Gone, Refused and Garbled."""
    async with aclosing(server.stream(session_id, hearing.cursor, follow=False)) as events:
        async for event in events:
            hearing.version = server.version or hearing.version
            for told in hearing.hear(event):
                yield told


async def follow_stream(
    server: EveClient,
    session_id: str,
    hearing: EveDecoder,
    settings: EveRemoteSettings,
    *,
    expects: bool,
) -> AsyncGenerator[Told, None]:
    """What is new until the agent rests; with ``expects`` not before something moved.

    A stream that breaks is opened again at its index, for as long as patience lasts. Raises Away,
    Gone, Refused and Garbled.
    """
    loop = asyncio.get_running_loop()
    pause, give_up, garbled_at = FIRST_PAUSE, loop.time() + settings.patience_seconds, -1
    while not _is_done(hearing, expects):
        cursor, wait = hearing.cursor, None
        try:
            patience = give_up if expects else None
            async with aclosing(_heard(server, session_id, hearing, patience)) as told:
                async for event in told:
                    yield event
        except ServerAway as away:
            _check(away, loop.time() > give_up)
            wait = away.retry_after
        except SessionGone as gone:
            # A session that has just been opened may not be known everywhere yet.
            _check(gone, cursor > 0 or loop.time() > give_up)
        except GarbledReply as garbled:
            _check(garbled, hearing.cursor == garbled_at)
            garbled_at = hearing.cursor
        if hearing.cursor > cursor:
            pause, give_up = FIRST_PAUSE, loop.time() + settings.patience_seconds
        elif loop.time() > give_up and expects and not hearing.moved:
            raise ServerAway("The agent took what was sent, and nothing came of it.")
        if not _is_done(hearing, expects):
            await asyncio.sleep(pause if wait is None else min(wait, LONGEST_PAUSE))
            pause = min(pause * 2, LONGEST_PAUSE)


def _check(trouble: Exception, give_up: bool) -> None:  # noqa: FBT001 -- the name says it
    if give_up:
        raise trouble


def _is_done(hearing: EveDecoder, expects: bool) -> bool:  # noqa: FBT001 -- as above
    return bool(hearing.dead) or (hearing.resting and (hearing.moved or not expects))


async def _heard(
    server: EveClient, session_id: str, hearing: EveDecoder, patience: float | None
) -> AsyncGenerator[Told, None]:
    """The stream until the agent rests. With ``patience``, till when something has to move."""
    stream = server.stream(session_id, hearing.cursor, follow=True)
    async with aclosing(stream) as events:
        while not _is_done(hearing, patience is not None):
            try:
                async with asyncio.timeout_at(None if hearing.moved else patience):
                    event = await anext(events)
            except (StopAsyncIteration, TimeoutError):
                return
            hearing.version = server.version or hearing.version
            for told in hearing.hear(event):
                yield told
