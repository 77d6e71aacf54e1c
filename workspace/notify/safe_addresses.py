"""Allow webhooks to public addresses only, and connect to the address that was checked.

Each attempt looks the name up once and connects to an address from that lookup. The name cannot
point elsewhere between the check and the connection.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from workspace.notify.errors import Undelivered

#: Ranges that carry a private IPv4 address in a public-looking IPv6 one: NAT64, 6to4, Teredo.
_WRAPPED = tuple(
    ipaddress.ip_network(net)
    for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
)


def check_url(url: str) -> SplitResult:
    """Return the parts of a webhook's URL. Raises ValueError with a sentence."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"This is not a URL: {error}.") from error
    schemes = ("https", "http") if settings.WEBHOOKS_ALLOW_PRIVATE else ("https",)
    if parts.scheme not in schemes:
        raise ValueError(
            f"A webhook's URL must start with {' or '.join(f'{s}://' for s in schemes)}."
        )
    if not parts.hostname or port == 0 or url != url.strip() or not url.isprintable():
        raise ValueError("A webhook's URL must name a host.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("A webhook's URL must not contain a user, password or fragment.")
    return parts


async def addresses_of(parts: SplitResult) -> list[str]:
    """Return the addresses to try, in order. Raises Undelivered if any is not public."""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            parts.hostname, port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError) as error:
        raise Undelivered(f"The host {parts.hostname} was not found.") from error
    addresses = [str(info[4][0]) for info in found]
    if not settings.WEBHOOKS_ALLOW_PRIVATE and not all(map(is_public, addresses)):
        raise Undelivered(f"The host {parts.hostname} has an address that is not public.")
    return list(dict.fromkeys(addresses))


def is_public(address: str) -> bool:
    """Return whether an address is on the internet, in whatever notation."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if any(ip in net for net in _WRAPPED if net.version == ip.version):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved
