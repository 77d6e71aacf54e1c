"""Report whether this process is alive and whether it can work, and serve the metrics.

GET /healthz   200 while the process answers; checks nothing else
GET /readyz    200, or 503 with {"ready": false, "wrong": {name: sentence}};
               both with {"details": {name: count}} if a person should look at something
GET /metrics   Prometheus text; for staff and for programs on this machine

GET /health/banner   what is wrong, for open pages
"""

from __future__ import annotations

import ipaddress

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import split_domain_port
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from workspace.health import metrics
from workspace.health.alarms import alarms
from workspace.health.banner import banner_html
from workspace.health.look import look_now, recent_health
from workspace.health.words import what_is_wrong

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
    """Name what is wrong, but not why: anybody may ask. ``details`` are alarms; work goes on."""
    wrong = what_is_wrong(look_now())
    status = 503 if wrong else 200
    details = {} if "database" in wrong else alarms()
    more = {"details": details} if details else {}
    return JsonResponse({"ready": not wrong, "wrong": wrong, **more}, status=status)


@login_not_required
@never_cache
@require_safe
def show_banner(request: HttpRequest) -> HttpResponse:
    """GET /health/banner?shown=worker&first=worker: return the banner; 204 if it shows that already.

    It needs no sign-in and no session, so that it works while the database is away.
    """
    shown, first = request.GET.get("shown", ""), request.GET.get("first", "")
    html = banner_html(recent_health(), shown=shown, first=first)
    return HttpResponse(html) if html else HttpResponse(status=204)


@login_not_required
@never_cache
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if not (request.user.is_active and request.user.is_staff) and not is_local(request):
        raise PermissionDenied
    return HttpResponse(metrics.metrics_text(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


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
