"""Views of /eve/v1: eve clients open sessions of our agents, follow them, and answer.

The views accept bearer keys and ignore cookies. They wait on the event loop, so an idle reader holds
no thread and no database connection.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase, QueryDict, StreamingHttpResponse

from agents.db.retrying import once_in_database
from workspace.protocols.common.http import HttpDoor
from workspace.protocols.eve.errors import EveProblem, as_json, invalid, of_request
from workspace.protocols.eve.server import event_stream, info, log_reader, service, shared_stream
from workspace.protocols.eve.server.event_stream import StreamRequest

Json = dict[str, Any]
#: 24: every appended event carries both the addition and the whole text, for older and newer clients.
VERSION = "24"


EVE = HttpDoor(of_request)


@EVE.takes_async("GET", "HEAD")
async def health(request: HttpRequest) -> HttpResponseBase:
    """GET /eve/v1/health. No key is needed."""
    del request
    return as_json(info.HEALTH)


@EVE.takes_async("GET")
async def agent_info(request: HttpRequest) -> HttpResponseBase:
    """GET /eve/v1/info."""
    return as_json(await once_in_database(service.agent_info, request))


@EVE.takes_async("POST")
async def post_session(request: HttpRequest) -> HttpResponseBase:
    """POST /eve/v1/session."""
    body = await once_in_database(service.create_session, request, request.body)
    return _accepted(body)


@EVE.takes_async("POST")
async def continue_or_show(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """POST /eve/v1/session/<id>: a message, or answers."""
    body = await once_in_database(service.continue_session, request, session_id, request.body)
    return _accepted(body)


@EVE.takes_async("POST")
async def post_cancel(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """POST /eve/v1/session/<id>/cancel."""
    return _accepted(await once_in_database(service.cancel_turn, request, session_id, request.body))


@EVE.takes_async("POST")
async def post_clear(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """POST /eve/v1/session/<id>/clear."""
    return _accepted(
        await once_in_database(service.clear_session, request, session_id, request.body)
    )


@EVE.takes_async("POST")
async def post_reset(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """POST /eve/v1/session/<id>/reset."""
    return as_json(await once_in_database(service.reset_session, request, session_id, request.body))


@EVE.takes_async("GET")
async def stream_events(request: HttpRequest, session_id: str) -> HttpResponseBase:
    """GET /eve/v1/session/<id>/stream: one event per line, from any index."""
    start = _start_index(request.GET)
    follow = request.GET.get("follow", "").lower() not in ("false", "0")
    key, opened = await once_in_database(service.find_readable, request, session_id)
    about, tail = log_reader.read_about(opened), None
    wants_tail = request.GET.get("includeTailIndex", "").lower() in ("1", "true")
    if start < 0 or not follow or wants_tail:
        tail = await shared_stream.count_of(opened.session_id, about)
    stream = StreamRequest(
        key=key,
        session_id=opened.session_id,
        about=about,
        start=start if start >= 0 else max((tail or 0) + start, 0),
        until=None if follow else tail,
        leased=request.GET.get("streamControlVersion") == "1" and follow,
    )
    headers = _headers(session_id)
    if wants_tail or not follow:
        headers["x-eve-stream-tail-index"] = str((tail or 0) - 1)
    return StreamingHttpResponse(
        event_stream.stream_lines(stream),
        content_type="application/x-ndjson; charset=utf-8",
        headers=headers,
    )


def _headers(session_id: str) -> dict[str, str]:
    return {
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
        "x-eve-session-id": session_id,
        "x-eve-stream-format": "ndjson",
        "x-eve-stream-version": VERSION,
    }


def _start_index(query: QueryDict) -> int:
    text = query.get("startIndex", "0")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise invalid("Expected startIndex to be an integer.")
    return int(text)


def _accepted(body: Json) -> HttpResponseBase:
    """Answer 202 if the request was accepted, 200 if there was nothing to do."""
    status = 202 if body.get("status") == "accepted" else 200
    headers = {"x-eve-session-id": str(body["sessionId"])} if "sessionId" in body else {}
    return as_json(body, status=status, headers=headers)


@EVE.takes_async("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
async def no_such_path(request: HttpRequest, **ids: str) -> HttpResponseBase:
    """Answer any other path below /eve/v1."""
    del request, ids
    raise EveProblem(404, "Not found.")
