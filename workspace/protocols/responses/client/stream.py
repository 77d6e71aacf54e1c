"""Follow a response until it ends: by its stream, or by polling if the stream does not continue."""

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
    """Yield what is new until the response ends.

    An unreachable server is retried until patience runs out; one that no longer streams is polled.
    Raises ServerAway, ResponsesRefused and GarbledReply.
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
            async with aclosing(_follow_once(server, reply, streams=streams)) as events:
                async for event in events:
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
            # Poll after a stream that closes without news.
            streams = streams and reply.last > seen
            give_up = loop.time() + settings.patience_seconds
            pause = settings.poll_seconds if not streams else FIRST_PAUSE
        if not reply.is_over:
            await asyncio.sleep(pause)


async def _follow_once(
    server: ResponsesClient, reply: Reply, *, streams: bool
) -> AsyncGenerator[Told, None]:
    if not streams:
        for item in reply.hear({"type": WHOLE, "response": await server.look(reply.name)}):
            yield item
        return
    async with aclosing(server.follow(reply.name, reply.last)) as events:
        async for event in events:
            for item in reply.hear(event):
                yield item
            if reply.is_over:
                return
