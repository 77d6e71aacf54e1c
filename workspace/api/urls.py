"""The URLs of the API, built from its operations."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt

from workspace.accounts import api_keys
from workspace.accounts.api_keys import KeyRefused
from workspace.api import openapi
from workspace.api.door import Operation, check_accept, serve_operations
from workspace.api.operations import OPERATIONS
from workspace.api.problems import not_found, problem_of_request
from workspace.protocols.common.http import HttpDoor


@HttpDoor(problem_of_request).takes("GET", "HEAD")
def document(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document to signed-in people, and to the holder of any living key."""
    check_accept(request)
    if not request.user.is_authenticated and api_keys.authenticate_key(request) is None:
        raise KeyRefused(401, "no_key", "Sign in, or send a living API key.")
    text = json.dumps(openapi.openapi_document(), indent=1)
    return HttpResponse(text, content_type="application/json", headers={"Cache-Control": "private"})


@csrf_exempt
@login_not_required
def nothing(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return not_found().as_response()


def _patterns() -> list[URLPattern]:
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    return [
        path(
            route.replace("{slug}", "<slug:slug>").replace("{", "<int:").replace("}", ">"),
            serve_operations(operations),
            name=f"api_{operations[0].name}",
        )
        for route, operations in by_path.items()
    ]


urlpatterns = [
    *_patterns(),
    path("openapi.json", document, name="api_openapi"),
    re_path(r"^[\s\S]*\Z", nothing),
]
