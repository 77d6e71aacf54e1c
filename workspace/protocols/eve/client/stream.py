"""Read a remote agent's stream: what it holds now, or until the agent is idle. Both are bounded."""

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
    """Yield what the stream holds now.

    Raises ServerAway, SessionGone, EveRefused and GarbledReply.
    """
    async with aclosing(server.stream(session_id, hearing.cursor, follow=False)) as events:
        async for event in events:
            hearing.version = server.version or hearing.version
            for item in hearing.hear(event):
                yield item


async def follow_stream(
    server: EveClient,
    session_id: str,
    hearing: EveDecoder,
    settings: EveRemoteSettings,
    *,
    expects: bool,
) -> AsyncGenerator[Told, None]:
    """Yield what is new until the agent is idle; with ``expects`` not before something happened.

    A broken stream is reopened at its index until patience runs out. Raises ServerAway,
    SessionGone, EveRefused and GarbledReply.
    """
    loop = asyncio.get_running_loop()
    pause, give_up, garbled_at = FIRST_PAUSE, loop.time() + settings.patience_seconds, -1
    while not _is_done(hearing, expects):
        cursor, wait = hearing.cursor, None
        try:
            patience = give_up if expects else None
            async with aclosing(_read_once(server, session_id, hearing, patience)) as events:
                async for event in events:
                    yield event
        except ServerAway as away:
            _raise_if(away, loop.time() > give_up)
            wait = away.retry_after
        except SessionGone as gone:
            # A session that was just created may not be visible everywhere yet.
            _raise_if(gone, cursor > 0 or loop.time() > give_up)
        except GarbledReply as garbled:
            _raise_if(garbled, hearing.cursor == garbled_at)
            garbled_at = hearing.cursor
        if hearing.cursor > cursor:
            pause, give_up = FIRST_PAUSE, loop.time() + settings.patience_seconds
        elif loop.time() > give_up and expects and not hearing.moved:
            raise ServerAway("The agent accepted the input, but did nothing.")
        if not _is_done(hearing, expects):
            await asyncio.sleep(pause if wait is None else min(wait, LONGEST_PAUSE))
            pause = min(pause * 2, LONGEST_PAUSE)


def _raise_if(trouble: Exception, give_up: bool) -> None:  # noqa: FBT001 -- the name says it
    if give_up:
        raise trouble


def _is_done(hearing: EveDecoder, expects: bool) -> bool:  # noqa: FBT001 -- as above
    return bool(hearing.dead) or (hearing.resting and (hearing.moved or not expects))


async def _read_once(
    server: EveClient, session_id: str, hearing: EveDecoder, patience: float | None
) -> AsyncGenerator[Told, None]:
    """Yield one stream until the agent is idle. With ``patience``, something must happen by then."""
    stream = server.stream(session_id, hearing.cursor, follow=True)
    async with aclosing(stream) as events:
        while not _is_done(hearing, patience is not None):
            try:
                async with asyncio.timeout_at(None if hearing.moved else patience):
                    event = await anext(events)
            except (StopAsyncIteration, TimeoutError):
                return
            hearing.version = server.version or hearing.version
            for item in hearing.hear(event):
                yield item
