"""The addresses of the live streams."""

from __future__ import annotations

from typing import Any, cast

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from channels.sessions import CookieMiddleware
from django.urls import re_path

from workspace.live.consumers import (
    AskStream,
    BadgeStream,
    NoSuchStream,
    QueueStream,
    SessionStream,
)
from workspace.live.origin import SameOriginOnly

STREAMS: list[tuple[str, type[AsyncWebsocketConsumer]]] = [
    (r"^ws/sessions/(?P<session_id>[0-9]{1,18})/$", SessionStream),
    (r"^ws/asks/(?P<ask_id>[0-9]{1,18})/$", AskStream),
    (r"^ws/queue/$", QueueStream),
    (r"^ws/badge/$", BadgeStream),
    # For an unknown address daphne logs a traceback, and the browser retries for ever.
    (r"", NoSuchStream),
]

websocket_urlpatterns: list[Any] = [
    re_path(pattern, cast("Any", stream.as_asgi())) for pattern, stream in STREAMS
]

#: The streams read the login from the cookie themselves, after subscribing.
application = SameOriginOnly(CookieMiddleware(URLRouter(websocket_urlpatterns)))
