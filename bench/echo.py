"""The yardstick of live updates: a bare Channels consumer that echoes, and a bare page of htmx.

daphne bench.echo:application
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import django
import django_htmx
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
django.setup()

SCRIPTS = Path(django_htmx.__file__).parent / "static" / "django_htmx"
PAGE = b"""<!doctype html><title>echo</title>
<script src="/htmx.js"></script><script src="/ws.js"></script>
<body hx-ext="ws"><div ws-connect="/ws/"><ol id="stream"></ol></div>
<script>
  document.addEventListener("htmx:wsOpen", (event) => { window.echoes = event.detail.event.target; });
</script>"""


class Echo(AsyncWebsocketConsumer):
    """Sends back what it receives."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.send(text_data, bytes_data)


async def page(scope: dict[str, Any], receive: object, send: Any) -> None:
    body, kind = _file(scope["path"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body})


def _file(path: str) -> tuple[bytes, bytes]:
    names = {"/htmx.js": "htmx-2.min.js", "/ws.js": "ext/hx-ws-2.min.js"}
    if path in names:
        return (SCRIPTS / names[path]).read_bytes(), b"text/javascript"
    return PAGE, b"text/html"


application = ProtocolTypeRouter({"http": page, "websocket": Echo.as_asgi()})
