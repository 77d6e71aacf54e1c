"""Report whether this process is alive and whether it can work, and serve the metrics.

GET /healthz   200 while the process answers; checks nothing else
GET /readyz    200, or 503 with {"ready": false, "wrong": {name: sentence}}
GET /metrics   Prometheus text; for staff and for programs on this machine
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import split_domain_port
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from agents.jobs.health import is_worker_alive
from workspace.health import metrics

#: Headers with which a proxy names the client that it forwards for.
FORWARDED = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via")
LOCAL_NAMES = {"localhost", "127.0.0.1", "[::1]"}


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return HttpResponse("alive\n", content_type="text/plain")


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Name what is wrong, but not why: anybody may ask."""
    wrong = what_is_wrong()
    status = 503 if wrong else 200
    return JsonResponse({"ready": not wrong, "wrong": wrong}, status=status)


@login_not_required
@never_cache
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if not (request.user.is_active and request.user.is_staff) and not is_local(request):
        raise PermissionDenied
    return HttpResponse(metrics.metrics_text(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def what_is_wrong() -> dict[str, str]:
    """Return {name: sentence} of everything that prevents work; empty when all is well."""
    if not _works(_database_answers):
        return {"database": "The database does not answer."}
    wrong = {}
    if not _works(_is_migrated):
        wrong["migrations"] = "The database is not at this version's migrations."
    if not _works(is_worker_alive):
        wrong["worker"] = "No worker has been alive lately: runs wait in the queue."
    return wrong


def _works(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (DatabaseError, InterfaceError):
        return False


def _database_answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone())


def _is_migrated() -> bool:
    loader = MigrationLoader(connection)
    return set(loader.graph.nodes) <= set(loader.applied_migrations)


def is_local(request: HttpRequest) -> bool:
    """Return whether a program on this machine calls us directly, by a local name."""
    # A proxy on this machine has a loopback address too, but it names its client.
    if any(name in request.headers for name in FORWARDED):
        return False
    # A page that rebinds its own name to this machine calls us by that name.
    if split_domain_port(request.get_host())[0] not in LOCAL_NAMES:
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
