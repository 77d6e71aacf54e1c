"""The address of the instance that runs from this state folder, for what commands print."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from workspace.local.lock import running_addresses


def base_url() -> str:
    """Return the address of the running instance, else that of PORT on this machine."""
    running = running_addresses(settings.STATE_DIR)
    port = os.environ.get("PORT")
    mine = [address for address in running if not port or address.endswith(f":{port}")]
    return address_to_open((mine or [f"http://127.0.0.1:{port or 8000}"])[0])


def address_to_open(address: str) -> str:
    """Return the address to open in a browser: this machine's, or that of the allowed host."""
    local = urlsplit(address)
    host = allowed_host(local.netloc)
    if host == local.netloc:
        return address
    return f"https://{host}" if settings.HTTPS else f"http://{host}:{local.port}"


def allowed_host(local: str) -> str:
    """Return ``local`` (host:port) if ALLOWED_HOSTS accepts it, else the first allowed host."""
    host, _ = split_domain_port(local)
    if not settings.ALLOWED_HOSTS or validate_host(host, settings.ALLOWED_HOSTS):
        return local
    return str(settings.ALLOWED_HOSTS[0]).lstrip(".")
