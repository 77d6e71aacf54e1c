"""Check a call of the API before its work: method, media types, key, query and body, in this order.

Only a key in the Authorization header opens the API. A browser's session does not, so no page that a
person is lured to can act for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from pydantic import BaseModel, ValidationError

from agents.text import json_input
from workspace.accounts import api_keys
from workspace.accounts.api_keys import KeyRefused
from workspace.api import attempts
from workspace.api.problems import ApiProblem, problem_of_request, problem_of_shape
from workspace.api.shapes import NoQuery
from workspace.models import ApiKey
from workspace.protocols.common import http
from workspace.protocols.common.http import HttpDoor, SyncView

_ACCEPTED = {"application/json", "application/problem+json", "application/*", "*/*"}


@dataclass(frozen=True)
class Call:
    """A request that passed all checks. ``query`` and ``body`` have the operation's shapes."""

    key: ApiKey
    ids: dict[str, Any]
    query: Any
    body: Any


@dataclass(frozen=True)
class Operation:
    """One thing a program can do: its parameters, its answer, and the statuses it refuses with.

    An operation that ``decides`` an ask records the attempt of a key that may not decide.
    """

    method: str
    path: str
    name: str
    summary: str
    scopes: tuple[str, ...]
    handler: Callable[[Call], BaseModel]
    answer: type[BaseModel]
    query: type[BaseModel] = NoQuery
    body: type[BaseModel] | None = None
    refusals: tuple[int, ...] = ()
    decides: bool = False

    @property
    def statuses(self) -> tuple[int, ...]:
        """Return every documented status of the operation."""
        always = {200, 401, 403, 406, 422}
        with_body = {400, 413, 415} if self.body else set()
        deciding = {429} if self.decides else set()
        return tuple(sorted(always | with_body | deciding | set(self.refusals)))


def serve_operations(operations: Sequence[Operation]) -> SyncView:
    """Make the view of a path that has these operations."""
    methods = [operation.method for operation in operations]

    @API.takes(*methods, *(["HEAD"] if "GET" in methods else []))
    def view(request: HttpRequest, **ids: int | str) -> HttpResponse:
        return _answer(request, operations, ids)

    return view


def _finish(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["Vary"] = "Accept, Authorization"
    return response


API = HttpDoor(problem_of_request, _finish)


def _answer(
    request: HttpRequest, operations: Sequence[Operation], ids: dict[str, Any]
) -> HttpResponse:
    operation = _operation(request, operations)
    check_accept(request)
    key = _key(request, operation, ids)
    query = _query(request, operation)
    body = _body(request, operation.body) if operation.body else None
    return as_json(operation.handler(Call(key, ids, query, body)))


def as_json(shape: BaseModel) -> HttpResponse:
    """Return a shape as the response, with numbers as the database stores them."""
    text = http.one_line_json(shape.model_dump(mode="json"))
    return HttpResponse(text, content_type="application/json")


def _operation(request: HttpRequest, operations: Sequence[Operation]) -> Operation:
    method = "GET" if request.method == "HEAD" else request.method
    return next(operation for operation in operations if operation.method == method)


def check_accept(request: HttpRequest) -> None:
    """Raise ApiProblem unless the caller accepts JSON."""
    accept = request.headers.get("Accept") or "*/*"
    ranges = [part.partition(";") for part in accept.split(",")]
    accepted = {name.strip().lower() for name, _, params in ranges if not _is_refused(params)}
    if not accepted & _ACCEPTED:
        raise ApiProblem(406, "not_acceptable", "This answers with application/json only.")


def _is_refused(params: str) -> bool:
    """Tell whether a media range carries q=0."""
    fields = [part.strip().lower() for part in params.split(";")]
    return any(part.startswith("q=") and part[2:].strip("0.") == "" for part in fields)


def _key(request: HttpRequest, operation: Operation, ids: dict[str, Any]) -> ApiKey:
    try:
        return api_keys.require_key(request, *operation.scopes)
    except KeyRefused as refused:
        if refused.key is not None and operation.decides:
            if wait := attempts.record_attempt(refused.key, ids["ask_id"], refused.detail):
                raise http.too_many_attempts(wait) from refused
            if refused.key.is_an_agents:
                raise ApiProblem(403, "agents_never_answer", attempts.AGENTS_NEVER) from refused
        raise


def _query(request: HttpRequest, operation: Operation) -> BaseModel:
    lists = request.GET.lists()
    parameters = {name: values[0] if len(values) == 1 else values for name, values in lists}
    try:
        return operation.query.model_validate(parameters)
    except ValidationError as error:
        raise problem_of_shape(error, "query") from error


def _body(request: HttpRequest, shape: type[BaseModel]) -> BaseModel:
    raw = http.read_body(request)
    if raw:
        _check_media_type(request)
    try:
        return shape.model_validate(_parsed(raw) if raw else {})
    except ValidationError as error:
        raise problem_of_shape(error, "body") from error


def _check_media_type(request: HttpRequest) -> None:
    charset = request.content_params.get("charset", "utf-8") if request.content_params else "utf-8"
    plain = request.headers.get("Content-Encoding", "identity").lower() == "identity"
    if request.content_type != "application/json" or charset.lower() != "utf-8" or not plain:
        raise ApiProblem(415, "media_type", "Send application/json in UTF-8, not compressed.")


def _parsed(raw: bytes) -> object:
    """Return the JSON of a body. Duplicate keys are rejected."""
    try:
        return json_input.read_json_strictly(raw)
    except ValueError as error:
        raise ApiProblem(400, "malformed", f"The body is not JSON: {str(error)[:200]}.") from error
