"""Send signed webhooks according to Standard Webhooks (standardwebhooks.com, version 1).

The body is {"type", "timestamp", "data": {"id", "actor", "subject", ...payload}}. Three headers
accompany it: ``webhook-id`` (the same at every attempt), ``webhook-timestamp`` (of this attempt, in
Unix seconds) and ``webhook-signature``: one ``v1,`` signature for each valid secret.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import secrets
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult

import httpx
from standardwebhooks import Webhook

from workspace.notify.deliveries import Parcel
from workspace.notify.errors import Undelivered
from workspace.notify.safe_addresses import addresses_of, check_url

SECONDS = 10.0
#: Bytes of a response that are read, for the error message.
MAX_ANSWER = 2_000
GONE = 410
#: Leaves time for a second address when the first one is unreachable.
_TIMES = httpx.Timeout(SECONDS, connect=3.0)


def new_secret() -> str:
    """Return a new signing secret: ``whsec_`` and the base64 of 32 random bytes."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def as_json(parcel: Parcel) -> dict[str, Any]:
    """Return the body of a webhook."""
    about = {"id": parcel.uid, "actor": parcel.actor, "subject": parcel.subject}
    return {"type": parcel.kind, "timestamp": parcel.at, "data": {**about, **parcel.payload}}


def signed_headers(secrets: Sequence[str], uid: str, body: str, *, at: datetime) -> dict[str, str]:
    """Return the headers that identify the sender and the time of a body. ``at`` is in UTC.

    Every secret signs, so that during a rotation a receiver can verify with either.
    """
    return {
        "webhook-id": uid,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(secret).sign(uid, at, body) for secret in secrets),
    }


async def send_webhook(parcel: Parcel) -> None:
    """Post the event to the endpoint. Raises Undelivered unless it answers 2xx within ten seconds."""
    body = json.dumps(as_json(parcel), separators=(",", ":"))
    try:
        async with asyncio.timeout(SECONDS):
            status, excerpt = await _post(parcel, body)
    except TimeoutError as error:
        raise Undelivered(f"No answer within {SECONDS:g} seconds.") from error
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        raise Undelivered(f"{type(error).__name__}: {error}") from error
    if status == GONE:
        raise Undelivered("The endpoint answered 410: it wants no more events.", gone=True)
    if not 200 <= status < 300:
        raise Undelivered(f"The endpoint answered {status}. {excerpt}".strip())


async def _post(parcel: Parcel, body: str) -> tuple[int, str]:
    """Post to the first checked address that accepts a connection; return (status, excerpt)."""
    try:
        parts = check_url(parcel.url)
    except ValueError as error:
        raise Undelivered(str(error)) from error
    addresses = await addresses_of(parts)
    for address in addresses[:-1]:
        with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await _post_to(address, parts, parcel, body)
    return await _post_to(addresses[-1], parts, parcel, body)


async def _post_to(address: str, parts: SplitResult, parcel: Parcel, body: str) -> tuple[int, str]:
    """Post to exactly this address; TLS verifies the host's name."""
    headers = {
        "host": parts.netloc,
        "content-type": "application/json",
        "user-agent": "needs-you-webhooks/1",
        **signed_headers(parcel.secrets, parcel.uid, body, at=datetime.now(UTC)),
    }
    url = httpx.URL(parcel.url).copy_with(host=address)
    async with (
        httpx.AsyncClient(verify=_certificates(), trust_env=False, timeout=_TIMES) as client,
        client.stream(
            "POST", url, content=body, headers=headers, extensions={"sni_hostname": parts.hostname}
        ) as response,
    ):
        return response.status_code, await _excerpt(response)


async def _excerpt(response: httpx.Response) -> str:
    content = b""
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) >= MAX_ANSWER:
            break
    return content[:MAX_ANSWER].decode("utf-8", "replace")


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted authorities: certifi's, or those in SSL_CERT_FILE. Slow to make."""
    return httpx.create_ssl_context()
