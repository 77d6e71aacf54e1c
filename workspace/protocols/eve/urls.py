"""The doors of eve's sessions, without a slash at the end, as its clients call them."""

from __future__ import annotations

from django.urls import path

from workspace.protocols.eve.server import views

urlpatterns = [
    path("eve/v1/health", views.health, name="eve_health"),
    path("eve/v1/info", views.agent_info, name="eve_info"),
    path("eve/v1/session", views.create, name="eve_create"),
    path("eve/v1/session/<str:session_id>", views.session, name="eve_session"),
    path("eve/v1/session/<str:session_id>/stream", views.stream, name="eve_stream"),
    path("eve/v1/session/<str:session_id>/cancel", views.cancel, name="eve_cancel"),
    path("eve/v1/session/<str:session_id>/clear", views.clear, name="eve_clear"),
    path("eve/v1/session/<str:session_id>/reset", views.reset, name="eve_reset"),
    path("eve/v1/<path:rest>", views.nothing),
]
