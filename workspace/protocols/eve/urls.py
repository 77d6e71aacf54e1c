"""The URLs of eve's sessions, without a trailing slash, as its clients call them."""

from __future__ import annotations

from django.urls import path

from workspace.protocols.eve.server import views

urlpatterns = [
    path("eve/v1/health", views.health, name="eve_health"),
    path("eve/v1/info", views.agent_info, name="eve_info"),
    path("eve/v1/session", views.post_session, name="eve_create"),
    path("eve/v1/session/<str:session_id>", views.continue_or_show, name="eve_session"),
    path("eve/v1/session/<str:session_id>/stream", views.stream_events, name="eve_stream"),
    path("eve/v1/session/<str:session_id>/cancel", views.post_cancel, name="eve_cancel"),
    path("eve/v1/session/<str:session_id>/clear", views.post_clear, name="eve_clear"),
    path("eve/v1/session/<str:session_id>/reset", views.post_reset, name="eve_reset"),
    path("eve/v1/<path:rest>", views.no_such_path),
]
