"""Admit websockets from our own pages only: browsers send cookies from any page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[..., Awaitable[None]]


class SameOriginOnly:
    """Reject (403) a handshake whose Origin is not the requested host.

    The rule of Django's CSRF check. ALLOWED_HOSTS alone would let in pages of other programs on
    other ports of the same machine, whose requests carry our cookies.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(
        self, scope: dict[str, Any], receive: Application, send: Application
    ) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope.get("headers", [])}
        chosen: Application = self.application if is_ours(headers) else WebsocketDenier()
        await chosen(scope, receive, send)


def is_ours(headers: dict[bytes, str]) -> bool:
    """Whether the page that opens the socket is ours or from a trusted origin."""
    host, origin = headers.get(b"host", ""), headers.get(b"origin", "")
    domain, _ = split_domain_port(host)
    if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
        return False
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    try:
        parts = urlsplit(origin)
        default = {"http": 80, "https": 443}.get(parts.scheme)
        here = urlsplit(f"//{host}")
        same_port = (parts.port or default) == (here.port or default)
    except ValueError:
        return False
    return default is not None and parts.hostname == here.hostname and same_port
