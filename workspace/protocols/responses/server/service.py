"""The verbs of /v1/responses, with the check of the caller's key: synchronous, in the database."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import IntegrityError
from django.http import HttpRequest, QueryDict

from workspace.accounts import api_keys
from workspace.models import ApiKey
from workspace.protocols.responses.errors import (
    ResponsesProblem,
    invalid,
    no_previous,
    no_previous_named,
    no_such_approval,
    no_such_response,
)
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server import cancellation, decisions, sessions, store
from workspace.protocols.responses.server.events import body_of
from workspace.protocols.responses.server.outcomes import present_body
from workspace.protocols.responses.server.projection import Door
from workspace.protocols.responses.server.references import resolve_references
from workspace.protocols.responses.server.request import CreateResponse, read_create
from workspace.protocols.responses.server.steps import steps_of_caller
from workspace.protocols.responses.wire import Json

PAGE, LARGEST_PAGE = 20, 100
CREATE, READ = "run:create", "run:read"


@dataclass(frozen=True)
class Made:
    """A response that was just created, or that the same request created before.

    ``body`` is set for a background response: its caller does not wait.
    """

    response: Response
    stream: bool
    background: bool
    body: Json


def create_response(request: HttpRequest, raw: bytes) -> Made:
    """Start a turn, or answer a question. Raises ResponsesProblem."""
    key = api_keys.require_key(request, CREATE, "ask:answer")
    wish = request.GET.get("steps", "")
    read = read_create(raw, request.headers.get("Idempotency-Key", ""), wish)
    create = resolve_references(key, read)
    response = _answered(key, create) or _started_once(key, create)
    body = present_body(response) if create.background else {}
    return Made(response, create.stream, create.background, body)


def _answered(key: ApiKey, create: CreateResponse) -> Response | None:
    """Return the response to an answer; None if the request answers nothing. Raises ResponsesProblem."""
    if not create.outputs and not create.approvals:
        return None
    previous = _previous(key, create) or _approved_in(key, create)
    answer = decisions.answer_in(create, previous)
    if answer is None or previous is None:
        _reject_replayed(key, create)
        return None
    _check_is_over(previous)
    door = Door(
        key=key,
        items=create.items,
        background=create.background,
        steps=steps_of_caller(create, sessions.settings_of(previous.agent).steps, previous),
        said=create.said,
        ignored=create.ignored,
    )
    return decisions.record_answer(answer, key, door)


def _reject_replayed(key: ApiKey, create: CreateResponse) -> None:
    """Reject a transcript with a question and its answer that does not name the paused response."""
    calls = [output.call_id for output in create.outputs]
    if not create.previous and decisions.is_asked(calls, store.seen_by(key)):
        raise no_previous_named()


def _started_once(key: ApiKey, create: CreateResponse) -> Response:
    """Start a turn. The same request with the same idempotency key returns what it started before."""
    if not create.idempotency:
        return _started(key, create)
    named = Response.objects.filter(key=key, idempotency=create.idempotency)
    before = named.select_related("session", "agent").first()
    if before is not None:
        return before
    try:
        return _started(key, create)
    except IntegrityError:
        if (before := named.select_related("session", "agent").first()) is None:
            raise
        return before


def _started(key: ApiKey, create: CreateResponse) -> Response:
    if "run:create" not in key.scopes:
        raise ResponsesProblem(403, "This key lacks the scope run:create.", code="not_permitted")
    previous = _previous(key, create)
    if previous is not None:
        _check_is_over(previous)
    create.check_asks_anew()
    return sessions.start_response(key, create, previous=previous)


def _previous(key: ApiKey, create: CreateResponse) -> Response | None:
    if not create.previous:
        return None
    previous = store.find_response(key, create.previous)
    if previous is None:
        raise no_previous(create.previous)
    return previous


def _approved_in(key: ApiKey, create: CreateResponse) -> Response | None:
    """Return the response that asked for an approval, which its id tells. Raises ResponsesProblem."""
    for approval in create.approvals:
        response = store.find_response_of_item(key, approval.request_id)
        if response is None:
            raise no_such_approval(approval.request_id)
        return response
    return None


def _check_is_over(previous: Response) -> None:
    if previous.is_under_way:
        raise invalid(
            f"Previous response with id '{previous.public_id}' is still in progress.",
            "previous_response_id",
            "previous_response_in_progress",
        )


def found(request: HttpRequest, public_id: str, *scopes: str) -> tuple[ApiKey, Response]:
    """Find a response that the request's key may see. Raises ResponsesProblem."""
    key = api_keys.require_key(request, *(scopes or (READ,)))
    response = store.find_response(key, public_id)
    if response is None:
        raise no_such_response(public_id)
    return key, response


def retrieve_response(request: HttpRequest, public_id: str) -> tuple[Response, Json]:
    _, response = found(request, public_id)
    return response, present_body(response)


def cancel_response(request: HttpRequest, public_id: str) -> Json:
    key, response = found(request, public_id, CREATE)
    return body_of(cancellation.cancel_in_session(response, key))


def delete_response(request: HttpRequest, public_id: str) -> Json:
    key, response = found(request, public_id, CREATE)
    if READ not in key.scopes:
        raise ResponsesProblem(403, f"This key lacks the scope {READ}.", code="not_permitted")
    cancellation.delete_with_content(response, key)
    return {"id": public_id, "object": "response", "deleted": True}


def list_input_items(request: HttpRequest, public_id: str) -> Json:
    """Return a page of a response's input items, by default newest first."""
    _, response = found(request, public_id)
    limit = _number(request.GET, "limit", default=PAGE, least=1, most=LARGEST_PAGE)
    order = request.GET.get("order", "desc")
    if order not in ("asc", "desc"):
        raise invalid("order must be asc or desc.", "order")
    rows = list(response.inputs.order_by("position" if order == "asc" else "-position"))
    after = request.GET.get("after")
    if after:
        places = [place for place, row in enumerate(rows) if row.item_id == after]
        if not places:
            raise invalid(f"There is no input item '{after}'.", "after")
        rows = rows[places[0] + 1 :]
    page = [row.data for row in rows[:limit]]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(rows) > limit,
    }


def starting_after(query: QueryDict) -> int:
    """Return the number of the last event that a reader has; -1 for none. Raises ResponsesProblem."""
    return _number(query, "starting_after", default=-1, least=-1, most=2**31 - 1)


def _number(query: QueryDict, name: str, *, default: int, least: int, most: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    digits = text.removeprefix("-")
    number = int(text) if digits.isascii() and digits.isdigit() and len(text) < 12 else least - 1
    if not least <= number <= most:
        raise invalid(f"{name} must be a number from {max(least, 0)} to {most}.", name)
    return number
