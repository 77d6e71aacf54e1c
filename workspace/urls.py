"""All URLs, grouped by noun."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from workspace.accounts import sign_in_links
from workspace.health import checks
from workspace.pages import (
    agents,
    asks,
    backlog,
    decisions,
    given_up,
    needs_you,
    receipts,
    sessions,
    undo,
)
from workspace.pages.account import delegations, hours, reauthentication, sign_in
from workspace.pages.account import undo as undo_page
from workspace.pages.authority import claims, grants
from workspace.pages.mending import editing, handover, owners, told

urlpatterns = [
    path("", needs_you.show_queue, name="needs_you"),
    path("queue/changes", needs_you.show_queue_changes, name="queue_changes"),
    path("queue/badge", needs_you.show_badge, name="badge"),
    path("asks/<int:ask_id>/", asks.show_ask, name="ask"),
    path("asks/<int:ask_id>/changes", asks.show_ask_changes, name="ask_changes"),
    path("asks/<int:ask_id>/answer", asks.post_answer, name="answer"),
    path("asks/<int:ask_id>/withdraw", asks.post_withdrawal, name="withdraw"),
    path("asks/<int:ask_id>/claim", claims.post_claim, name="claim"),
    path("asks/<int:ask_id>/release", claims.post_release, name="release"),
    path("asks/<int:ask_id>/extend", claims.post_extension, name="extend"),
    path("asks/<int:ask_id>/again", backlog.post_ask_again, name="again"),
    path("asks/<int:ask_id>/drop", backlog.post_dismissal, name="drop"),
    path("verdicts/<int:verdict_id>/take-back", undo.post_take_back, name="take_answer_back"),
    path("verdicts/<int:verdict_id>/start-now", undo.post_start_now, name="start_now"),
    path("backlog/", backlog.list_backlog, name="backlog"),
    path("delegations/", delegations.show_delegations, name="delegations"),
    path(
        "delegations/<int:delegation_id>/revoke",
        delegations.post_revocation,
        name="delegation_revoke",
    ),
    path("hours", hours.edit_hours, name="hours"),
    path("undo", undo_page.edit_undo, name="undo"),
    path("prove", reauthentication.confirm_identity, name="prove"),
    path("agents/", agents.list_agents, name="agents"),
    path("agents/new", agents.connect_agent, name="agent_new"),
    path("agents/<slug:slug>/", agents.show_agent, name="agent"),
    path("agents/<slug:slug>/edit", editing.edit_agent, name="agent_edit"),
    path("agents/<slug:slug>/owners", owners.edit_owners, name="agent_owners"),
    path("agents/<slug:slug>/told", told.show_told, name="agent_told"),
    path("agents/<slug:slug>/retire", editing.retire, name="agent_retire"),
    path("agents/<slug:slug>/restore", agents.post_agent_restore, name="agent_restore"),
    path("agents/<slug:slug>/retry", agents.post_agent_retry, name="agent_retry"),
    path("agents/<slug:slug>/start", agents.post_agent_start, name="agent_start"),
    path("agents/<slug:slug>/pause", agents.post_agent_pause, name="agent_pause"),
    path("agents/<slug:slug>/resume", agents.post_agent_resume, name="agent_resume"),
    path("sessions/<int:session_id>/", sessions.show_session, name="session"),
    path("sessions/<int:session_id>/pane", needs_you.show_session_pane, name="session_pane"),
    path("sessions/<int:session_id>/message", sessions.post_session_message, name="message"),
    path("sessions/<int:session_id>/events", sessions.list_session_events, name="session_events"),
    path(
        "sessions/<int:session_id>/changes", sessions.show_session_changes, name="session_changes"
    ),
    path("sessions/<int:session_id>/start", sessions.post_session_start, name="session_start"),
    path("sessions/<int:session_id>/stop", sessions.post_session_stop, name="session_stop"),
    path("sessions/<int:session_id>/resume", sessions.post_session_resume, name="session_resume"),
    path("grants/<int:grant_id>/take-back", grants.post_take_back, name="take_back"),
    path("handover/", handover.show_handover, name="handover"),
    path("given-up/", given_up.list_given_up, name="given_up"),
    path("given-up/<int:session_id>/retry", given_up.post_retry, name="retry"),
    path("decisions/", decisions.list_decisions, name="decisions"),
    path("decisions/<int:ask_id>/receipt/", receipts.show_receipt, name="receipt"),
    path("login", sign_in.SignIn.as_view(), name="login"),
    path("logout", sign_in.SignOut.as_view(), name="logout"),
    path("enter/<str:token>", sign_in_links.enter, name="enter"),
    path("api/", include("workspace.api.urls")),
    path("", include("workspace.protocols.leaf.urls")),
    path("", include("workspace.protocols.responses.urls")),
    path("", include("workspace.protocols.eve.urls")),
    path("healthz", checks.healthz, name="healthz"),
    path("health/banner", checks.show_banner, name="health_banner"),
    path("readyz", checks.readyz, name="readyz"),
    path("metrics", checks.metrics_page, name="metrics"),
    path("admin/", admin.site.urls),
]

handler400 = "workspace.pages.errors.bad_request"
handler403 = "workspace.pages.errors.forbidden"
handler404 = "workspace.pages.errors.not_found"
handler500 = "workspace.pages.errors.server_error"
