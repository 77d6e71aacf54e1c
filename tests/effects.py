"""Take the grant of an action in a test, without doing the action."""

from __future__ import annotations

from agents.text.canonical_json import Json
from asks.actions import grants
from asks.models import Grant


def redeem_grant(*, session_id: int, operation: str, params: Json) -> Grant | None:
    """Take the grant for exactly this action; return None if there is no unused one."""
    begun = grants.begin_effect(session_id=session_id, operation=operation, params=params)
    return begun.grant if begun else None
