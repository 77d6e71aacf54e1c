"""The doors of leaf sessions, by the protocol's own addresses and their old names."""

from __future__ import annotations

from django.urls import path

from workspace.protocols.leaf import server

urlpatterns = [
    path("runs", server.runs, name="leaf_runs"),
    path("runs/status", server.status, name="leaf_status"),
    path("run-leaf", server.runs),
    path("run-leaf/status", server.status),
]
