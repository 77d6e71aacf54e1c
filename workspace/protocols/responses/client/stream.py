"""Follows a response that was created, by stream where that goes on and by looking where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from workspace.protocols.common.http_client import ServerAway
from workspace.protocols.responses.client.http import (
    WHOLE,
    BrokenReply,
    ResponsesClient,
    ResponsesRefused,
    UnsureReply,
)
from workspace.protocols.responses.client.reply import Reply, Told
from workspace.protocols.responses.client.settings import RemoteSettings

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


async def follow_stream(
    server: ResponsesClient, reply: Reply, settings: RemoteSettings
) -> AsyncGenerator[Told, None]:
    """What is new until the response is over. Raises Away, Refused and Garbled.

    A server that is away is given its time; one that streams nothing any more is looked at.
    """
    loop = asyncio.get_running_loop()
    streams, pause, give_up = (
        not settings.poll,
        FIRST_PAUSE,
        loop.time() + settings.patience_seconds,
    )
    while not reply.is_over:
        seen = reply.last
        try:
            async with aclosing(_once(server, reply, streams=streams)) as told:
                async for event in told:
                    yield event
        except ResponsesRefused:
            if not streams:
                raise
            streams = False
            continue
        except (ServerAway, BrokenReply, UnsureReply) as trouble:
            if loop.time() > give_up:
                raise (
                    trouble if isinstance(trouble, ServerAway) else ServerAway(str(trouble))
                ) from trouble
            pause = min(pause * 2, LONGEST_PAUSE)
        else:
            # A stream that ends without an end is no stream to rely on.
            streams = streams and reply.last > seen
            give_up = loop.time() + settings.patience_seconds
            pause = settings.poll_seconds if not streams else FIRST_PAUSE
        if not reply.is_over:
            await asyncio.sleep(pause)


async def _once(
    server: ResponsesClient, reply: Reply, *, streams: bool
) -> AsyncGenerator[Told, None]:
    if not streams:
        for told in reply.hear({"type": WHOLE, "response": await server.look(reply.name)}):
            yield told
        return
    async with aclosing(server.follow(reply.name, reply.last)) as events:
        async for event in events:
            for told in reply.hear(event):
                yield told
            if reply.is_over:
                return
