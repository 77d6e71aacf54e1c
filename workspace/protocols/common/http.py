"""The HTTP door of the API and of every protocol.

The door checks the method, reads the body, and renders the refusals that all protocols share
(method, key, size, too many attempts, no database) in the error shape of the protocol called.
"""

from __future__ import annotations

import functools
import json
import logging
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from agents.db.retrying import LOST
from workspace.accounts.api_keys import KeyRefused

log = logging.getLogger(__name__)

#: The default limit of a body, in bytes.
MAX_BODY = 256 * 1024

SyncView = Callable[..., HttpResponseBase]
AsyncView = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


class HttpProblem(Exception):
    """A refused request. Each protocol has a subclass that renders its own error shape."""

    def as_response(self) -> HttpResponse:
        raise NotImplementedError


class RefusedRequest(Exception):
    """A refusal that every protocol shares, before the protocol has worded it.

    ``reason`` is ``method``, ``no_key``, ``scope``, ``too_large``, ``cut_off``,
    ``too_many_attempts`` or ``unavailable``; ``detail`` is a sentence for people.
    """

    def __init__(
        self, status: int, reason: str, detail: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail = status, reason, detail
        self.headers = headers or {}


def method_not_allowed(methods: Sequence[str]) -> RefusedRequest:
    allowed = ", ".join(methods)
    return RefusedRequest(405, "method", f"This takes {allowed}.", {"Allow": allowed})


def too_large(limit: int = MAX_BODY) -> RefusedRequest:
    return RefusedRequest(413, "too_large", f"The body is larger than {limit} bytes.")


def too_many_attempts(wait: float) -> RefusedRequest:
    """Refuse a key that keeps trying what it is not allowed to do. ``wait`` is in seconds."""
    seconds = max(1, math.ceil(wait))
    detail = f"This key may not do this and has tried too often. Wait {seconds} seconds."
    return RefusedRequest(429, "too_many_attempts", detail, {"Retry-After": str(seconds)})


def refused_key(refused: KeyRefused) -> RefusedRequest:
    return RefusedRequest(refused.status, refused.reason, refused.detail, refused.headers)


def read_body(request: HttpRequest, limit: int = MAX_BODY) -> bytes:
    """Return the body. Raises RefusedRequest if it is larger than ``limit`` bytes."""
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length[:20]) > limit:
        raise too_large(limit)
    try:
        raw = request.body
    except RequestDataTooBig as error:
        raise too_large(limit) from error
    if len(raw) > limit:
        raise too_large(limit)
    return raw


def one_line_json(value: object) -> str:
    """Return compact JSON: no space between its parts, and no character escaped needlessly."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _unchanged(response: HttpResponseBase) -> HttpResponseBase:
    return response


@dataclass(frozen=True)
class HttpDoor:
    """Serve the views of one protocol, and word every refusal in the protocol's own shape.

    ``word`` makes the protocol's error from a shared refusal. ``finish`` sets the headers that every
    answer has. ``retry_after`` is in seconds, ``limit`` in bytes.
    """

    word: Callable[[RefusedRequest], HttpProblem]
    finish: Callable[[HttpResponseBase], HttpResponseBase] = _unchanged
    retry_after: int = 1
    limit: int = MAX_BODY

    def takes(self, *methods: str) -> Callable[[SyncView], SyncView]:
        """Decorate a view: check its method, and render its errors."""

        def decorate(view: SyncView) -> SyncView:
            @csrf_exempt
            @login_not_required
            @functools.wraps(view)
            def served(request: HttpRequest, **ids: Any) -> HttpResponseBase:
                try:
                    _check_method(request, methods)
                    response = view(request, **ids)
                except _REFUSALS as error:
                    response = self._answer_to(error)
                return self.finish(response)

            return served

        return decorate

    def takes_async(self, *methods: str) -> Callable[[AsyncView], AsyncView]:
        """Decorate an async view: check its method, and render its errors."""

        def decorate(view: AsyncView) -> AsyncView:
            @csrf_exempt
            @login_not_required
            @functools.wraps(view)
            async def served(request: HttpRequest, **ids: Any) -> HttpResponseBase:
                try:
                    _check_method(request, methods)
                    response = await view(request, **ids)
                except _REFUSALS as error:
                    response = self._answer_to(error)
                return self.finish(response)

            return served

        return decorate

    def _answer_to(self, error: Exception) -> HttpResponse:
        problem = error if isinstance(error, HttpProblem) else self.word(self._refused(error))
        return problem.as_response()

    def _refused(self, error: Exception) -> RefusedRequest:
        match error:
            case RefusedRequest():
                return error
            case KeyRefused():
                return refused_key(error)
            case RequestDataTooBig():
                return too_large(self.limit)
            case UnreadablePostError():
                return RefusedRequest(400, "cut_off", "The request ended too early.")
        log.error("A request could not be served: the database is away.", exc_info=error)
        again = {"Retry-After": str(self.retry_after)}
        return RefusedRequest(503, "unavailable", "The database is away. Try again.", again)


_REFUSALS = (
    HttpProblem,
    RefusedRequest,
    KeyRefused,
    RequestDataTooBig,
    UnreadablePostError,
    *LOST,
)


def _check_method(request: HttpRequest, methods: Sequence[str]) -> None:
    if request.method not in methods:
        raise method_not_allowed(methods)
