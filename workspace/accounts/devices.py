"""Classify the device of a request, for the record of a decision."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from asks.ledger import credential, device

_PHONE = re.compile(r"Mobi|Android|iPhone|iPad")


def device_of(request: HttpRequest) -> str:
    """Return phone, desktop or api; empty if unknown. Nothing more precise is stored."""
    if "Authorization" in request.headers:
        return "api"
    agent = request.headers.get("User-Agent", "")
    if request.headers.get("Sec-CH-UA-Mobile") == "?1" or _PHONE.search(agent):
        return "phone"
    return "desktop" if agent.startswith("Mozilla/") else ""


def remember_device(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: attribute everything that a request does to its device, and to its own key."""

    def answer(request: HttpRequest) -> HttpResponse:
        with device.acting_from(device_of(request)), credential.forgetting_credential():
            return get_response(request)

    return answer
