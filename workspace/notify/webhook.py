"""Signed webhooks, after Standard Webhooks (standardwebhooks.com, version 1).

The body is {"type", "timestamp", "data": {"id", "actor", "subject", ...payload}}. Three headers go
with it: ``webhook-id`` (the same at every attempt), ``webhook-timestamp`` (of this attempt, Unix
seconds) and ``webhook-signature``: ``v1,`` and the base64 of HMAC-SHA256 over id.timestamp.body, once
for each secret that is valid.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hashlib
import hmac
import json
import secrets
import ssl
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult

import httpx

from workspace.notify.deliveries import Parcel
from workspace.notify.errors import Undelivered
from workspace.notify.safe_addresses import addresses_of, check_url

SECONDS = 10.0
#: So much of an answer is read, for the error's sake.
MAX_ANSWER = 2_000
GONE = 410
#: A host that has several addresses, one of them unreachable, is still reached in time.
_TIMES = httpx.Timeout(SECONDS, connect=3.0)


def new_secret() -> str:
    """A signing secret: ``whsec_`` and the base64 of 32 random bytes."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def as_json(parcel: Parcel) -> dict[str, Any]:
    """The body of a webhook."""
    about = {"id": parcel.uid, "actor": parcel.actor, "subject": parcel.subject}
    return {"type": parcel.kind, "timestamp": parcel.at, "data": {**about, **parcel.payload}}


def signed_headers(secrets: Sequence[str], uid: str, body: bytes, *, at: int) -> dict[str, str]:
    """The three headers that let a receiver know the sender and the age of a body.

    Each secret signs: while one is changed for another, a receiver may still know either.
    """
    signed = f"{uid}.{at}.".encode() + body
    return {
        "webhook-id": uid,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{_signature(secret, signed)}" for secret in secrets),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


async def send_webhook(parcel: Parcel) -> None:
    """Tell the endpoint. Raises Undelivered unless it answers 2xx within ten seconds."""
    body = json.dumps(as_json(parcel), separators=(",", ":")).encode()
    try:
        async with asyncio.timeout(SECONDS):
            status, said = await _post(parcel, body)
    except TimeoutError as error:
        raise Undelivered(f"No answer within {SECONDS:g} seconds.") from error
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        raise Undelivered(f"{type(error).__name__}: {error}") from error
    if status == GONE:
        raise Undelivered("The endpoint answered 410: it wants nothing more.", gone=True)
    if not 200 <= status < 300:
        raise Undelivered(f"The endpoint answered {status}. {said}".strip())


async def _post(parcel: Parcel, body: bytes) -> tuple[int, str]:
    """Send to the first address that takes a connection, of those that were checked."""
    try:
        parts = check_url(parcel.url)
    except ValueError as error:
        raise Undelivered(str(error)) from error
    addresses = await addresses_of(parts)
    for address in addresses[:-1]:
        with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await _post_to(address, parts, parcel, body)
    return await _post_to(addresses[-1], parts, parcel, body)


async def _post_to(
    address: str, parts: SplitResult, parcel: Parcel, body: bytes
) -> tuple[int, str]:
    """Send to this very address, under the certificate of the name."""
    headers = {
        "host": parts.netloc,
        "content-type": "application/json",
        "user-agent": "needs-you-webhooks/1",
        **signed_headers(parcel.secrets, parcel.uid, body, at=int(time.time())),
    }
    url = httpx.URL(parcel.url).copy_with(host=address)
    async with (
        httpx.AsyncClient(verify=_certificates(), trust_env=False, timeout=_TIMES) as client,
        client.stream(
            "POST", url, content=body, headers=headers, extensions={"sni_hostname": parts.hostname}
        ) as answer,
    ):
        return answer.status_code, await _beginning(answer)


async def _beginning(answer: httpx.Response) -> str:
    said = b""
    async for chunk in answer.aiter_raw():
        said += chunk
        if len(said) >= MAX_ANSWER:
            break
    return said[:MAX_ANSWER].decode("utf-8", "replace")


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Whom we believe: certifi's authorities, or those that SSL_CERT_FILE names. Slow to make."""
    return httpx.create_ssl_context()
