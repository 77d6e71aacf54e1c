"""Sessions over the API: the state of one, and its events."""

from __future__ import annotations

from agents.events.log import events_after
from agents.models import Session
from workspace.accounts import api_keys
from workspace.api import shapes, views
from workspace.api.door import Call
from workspace.api.problems import ApiProblem, not_found


def get_session(call: Call) -> shapes.SessionShape:
    return views.session_shape(_session(call))


def list_events(call: Call) -> shapes.Events:
    """Return the events after a cursor, oldest first. The list is empty when there are none yet."""
    query: shapes.EventQuery = call.query
    session = _session(call)
    if query.after > session.last_seq:
        ahead = f"This session has events up to {session.last_seq} only. Read it from the start."
        raise ApiProblem(409, "cursor_ahead", ahead)
    rows = events_after(session.pk, query.after, limit=query.limit)
    return shapes.Events(events=[views.event_shape(row) for row in rows], last_seq=session.last_seq)


def _session(call: Call) -> Session:
    agents = api_keys.agents_of(call.key)
    sessions = Session.objects.select_related("agent").filter(agent__in=agents)
    session = sessions.filter(pk=call.ids["session_id"]).first()
    if session is None:
        raise not_found("There is no such session.")
    return session
