"""The URLs of leaf sessions: the protocol's own paths and their old names."""

from __future__ import annotations

from django.urls import path

from workspace.protocols.leaf.server import views

urlpatterns = [
    path("runs", views.runs, name="leaf_runs"),
    path("runs/status", views.status, name="leaf_status"),
    path("run-leaf", views.runs),
    path("run-leaf/status", views.status),
]
