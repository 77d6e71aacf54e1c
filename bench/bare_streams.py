"""The yardstick of streams: an application that sends what is posted to it to each reader.

daphne bench.bare_streams:application
"""

from __future__ import annotations

import asyncio
from typing import Any

HEADERS = [(b"content-type", b"application/x-ndjson; charset=utf-8")]
_waiting: list[asyncio.Future[bytes]] = []


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """POST sends its body to all readers; GET reads."""
    if scope["type"] != "http":
        return
    if scope["method"] == "POST":
        await _say(receive, send)
    elif scope["path"] == "/stream":
        await _follow(send)
    else:
        await _answer(send)


async def _say(receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    waiting, _waiting[:] = list(_waiting), []
    for each in waiting:
        if not each.done():
            each.set_result(body)
    await _answer(send)


async def _answer(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


async def _follow(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b"\n", "more_body": True})
    while True:
        news = asyncio.get_running_loop().create_future()
        _waiting.append(news)
        await send({"type": "http.response.body", "body": await news, "more_body": True})
