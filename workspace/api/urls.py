"""The API's addresses, made from its operations."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt

from workspace.accounts import api_keys
from workspace.accounts.api_keys import KeyRefused
from workspace.api import openapi
from workspace.api.door import Operation, check_accept, not_allowed, serve_operation
from workspace.api.operations import OPERATIONS
from workspace.api.problems import ApiProblem, not_found, problem_of_key


def _view(operations: list[Operation]) -> Callable[..., HttpResponse]:
    @csrf_exempt
    @login_not_required
    def view(request: HttpRequest, **ids: int) -> HttpResponse:
        return serve_operation(request, operations, ids)

    return view


@csrf_exempt
@login_not_required
def document(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document: for people who are signed in, and for any living key."""
    try:
        if request.method not in ("GET", "HEAD"):
            raise not_allowed(["GET", "HEAD"])
        check_accept(request)
        if not request.user.is_authenticated and api_keys.authenticate_key(request) is None:
            raise problem_of_key(KeyRefused(401, "no_key", "Sign in, or send a living API key."))
    except ApiProblem as problem:
        return problem.as_response()
    said = json.dumps(openapi.openapi_document(), indent=1)
    return HttpResponse(said, content_type="application/json", headers={"Cache-Control": "private"})


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
            route.replace("{", "<int:").replace("}", ">"),
            _view(operations),
            name=f"api_{operations[0].name}",
        )
        for route, operations in by_path.items()
    ]


urlpatterns = [
    *_patterns(),
    path("openapi.json", document, name="api_openapi"),
    re_path(r"^.*\Z", nothing),
]
