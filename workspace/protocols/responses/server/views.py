"""Views of /v1/responses: clients of the Responses protocol start runs, follow them, and answer.

The views accept bearer keys and ignore cookies. They wait on the event loop, so a call that lasts as
long as its run holds no thread and no database connection.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from agents.db.retrying import once_in_database
from workspace.protocols.common.http import HttpDoor
from workspace.protocols.responses.errors import no_such_endpoint, of_request
from workspace.protocols.responses.server import service, stream
from workspace.protocols.responses.wire import Json, compact_json

_NO_BUFFERING = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def _finish(response: HttpResponseBase) -> HttpResponseBase:
    response.headers["x-request-id"] = f"req_{secrets.token_hex(16)}"
    response.headers.setdefault("Cache-Control", "no-store")
    return response


#: Callers may send whole transcripts, so the limit is Django's own.
RESPONSES = HttpDoor(of_request, _finish, limit=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


@RESPONSES.takes_async("POST")
async def post_response(request: HttpRequest) -> HttpResponseBase:
    """POST /v1/responses. The body decides whether it streams; the Accept header does not."""
    made = await once_in_database(service.create_response, request, request.body)
    response = made.response
    if made.stream:
        return _events(stream.stream_frames(response.pk, response.session_id, -1))
    if made.background:
        return _json(made.body)
    return _streamed(stream.wait_for_whole(response.pk, response.session_id), "application/json")


@RESPONSES.takes_async("GET", "DELETE")
async def get_or_delete_response(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """GET /v1/responses/<id>, also as a stream from any event on; and DELETE."""
    if request.method == "DELETE":
        return _json(await once_in_database(service.delete_response, request, public_id))
    after = service.starting_after(request.GET)
    response, body = await once_in_database(service.retrieve_response, request, public_id)
    if request.GET.get("stream") in ("true", "True", "1"):
        return _events(stream.stream_frames(response.pk, response.session_id, after))
    return _json(body)


@RESPONSES.takes_async("POST")
async def post_cancel(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """POST /v1/responses/<id>/cancel."""
    return _json(await once_in_database(service.cancel_response, request, public_id))


@RESPONSES.takes_async("GET")
async def get_input_items(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """GET /v1/responses/<id>/input_items."""
    return _json(await once_in_database(service.list_input_items, request, public_id))


@RESPONSES.takes_async("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
async def refuse_unknown(_: HttpRequest) -> HttpResponseBase:
    """Answer for every other address below /v1, in the words of the protocol."""
    raise no_such_endpoint()


def _json(body: Json) -> HttpResponse:
    return HttpResponse(compact_json(body), content_type="application/json")


def _events(content: AsyncIterator[bytes]) -> StreamingHttpResponse:
    return _streamed(content, "text/event-stream")


def _streamed(content: AsyncIterator[bytes], kind: str) -> StreamingHttpResponse:
    return StreamingHttpResponse(content, content_type=kind, headers=_NO_BUFFERING)
