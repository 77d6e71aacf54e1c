"""Says from what class of device a request comes, so that a decision's record can tell it."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from asks.ledger import device

_PHONE = re.compile(r"Mobi|Android|iPhone|iPad")


def device_of(request: HttpRequest) -> str:
    """phone, desktop or api; empty when the request does not say. Nothing finer is kept."""
    if "Authorization" in request.headers:
        return "api"
    agent = request.headers.get("User-Agent", "")
    if request.headers.get("Sec-CH-UA-Mobile") == "?1" or _PHONE.search(agent):
        return "phone"
    return "desktop" if agent.startswith("Mozilla/") else ""


def remember_device(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """The middleware: all that a request does is done from its device."""

    def answer(request: HttpRequest) -> HttpResponse:
        with device.acting_from(device_of(request)):
            return get_response(request)

    return answer
