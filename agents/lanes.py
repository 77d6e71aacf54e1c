"""Rate limits that several agents share. A limit that is reached holds every agent of its lane."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from agents.models import Session
from agents.text.storable import make_storable

#: Two agents may reach the limit at once; the later end wins.
_BLOCK = """
INSERT INTO agents_lane (name, blocked_until, reason) VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET
    blocked_until = GREATEST(agents_lane.blocked_until, EXCLUDED.blocked_until),
    reason = EXCLUDED.reason
"""


def block_lane(session: Session, until: datetime, *, reason: str) -> None:
    """Block the lane of a session's agent until a time. Do nothing if the agent has no lane."""
    if session.agent.lane:
        with connection.cursor() as cursor:
            cursor.execute(_BLOCK, [session.agent.lane, until, make_storable(reason[:300])])
