"""The one HTTP door: each protocol refuses in its own shape, also while PostgreSQL is away."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.test import RequestFactory

from workspace.api.door import API
from workspace.protocols.common.http import HttpDoor
from workspace.protocols.eve.server.views import EVE
from workspace.protocols.leaf.server.views import LEAF
from workspace.protocols.responses.server.views import RESPONSES

AWAY = {
    "api": (
        API,
        "1",
        {
            "type": "urn:needs-you:refusal:unavailable",
            "title": "Service Unavailable",
            "status": 503,
            "detail": "The database is away. Try again.",
            "reason": "unavailable",
        },
    ),
    "eve": (EVE, "1", {"ok": False, "error": "The database is away. Try again."}),
    "leaf": (
        LEAF,
        "2",
        {
            "error": "unavailable",
            "detail": "The database is away. Send the same again: nothing is lost or done twice.",
        },
    ),
    "responses": (
        RESPONSES,
        "1",
        {
            "error": {
                "message": "The database is away. Try again.",
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            }
        },
    ),
}
doors = pytest.mark.parametrize(
    "door", [API, EVE, LEAF, RESPONSES], ids=["api", "eve", "leaf", "responses"]
)


def served(door: HttpDoor, view: Any, method: str = "POST") -> HttpResponse:
    opened = (
        door.takes_async("POST")(view)
        if inspect.iscoroutinefunction(view)
        else door.takes("POST")(view)
    )
    response: Any = opened(RequestFactory().generic(method, "/"))
    made: HttpResponse = asyncio.run(response) if inspect.iscoroutine(response) else response
    return made


def losing(request: HttpRequest) -> HttpResponse:
    raise OperationalError("the connection is closed")


async def losing_later(request: HttpRequest) -> HttpResponse:
    raise OperationalError("the connection is closed")


def breaking_off(request: HttpRequest) -> HttpResponse:
    raise UnreadablePostError("reset by peer")


@pytest.mark.parametrize("view", [losing, losing_later])
@pytest.mark.parametrize("name", AWAY)
def test_without_a_database_a_caller_is_asked_to_come_again(name: str, view: Any) -> None:
    door, after, body = AWAY[name]
    response = served(door, view)
    assert (response.status_code, response.headers["Retry-After"]) == (503, after)
    assert json.loads(response.content) == body


@doors
def test_a_request_that_ends_too_early_is_a_400(door: HttpDoor) -> None:
    assert served(door, breaking_off).status_code == 400


@doors
def test_another_method_names_the_right_one(door: HttpDoor) -> None:
    response = served(door, losing, "PUT")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
