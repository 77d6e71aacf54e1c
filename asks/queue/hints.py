"""Notify the open pages of everybody who may answer an ask that their queue has changed.

The people are looked up after the commit: the owners of the agent, or the members of the answering
group, and their delegates.
"""

from __future__ import annotations

from agents.events import notify
from asks.models import Ask

MEMBERS = "SELECT user_id FROM auth_user_groups WHERE group_id = ANY(%s::bigint[])"
_IN_FORCE = """
d.revoked_at IS NULL AND d.starts_at <= statement_timestamp() AND d.ends_at > statement_timestamp()
"""
OWNERS_DELEGATES = f"""
SELECT d.delegate_id FROM asks_delegation d
JOIN agents_agent_owners o ON o.user_id = d.delegator_id
WHERE {_IN_FORCE} AND o.agent_id = ANY(%s::bigint[])
"""  # noqa: S608  built from the constants above
MEMBERS_DELEGATES = f"""
SELECT d.delegate_id FROM asks_delegation d
JOIN auth_user_groups g ON g.user_id = d.delegator_id
WHERE {_IN_FORCE} AND g.group_id = ANY(%s::bigint[])
"""  # noqa: S608  built from the constant above


def notify_queues(ask: Ask) -> None:
    """After the commit, notify everybody whose queue shows this ask."""
    notify.notify_owners_changed(ask.agent_id)
    if ask.answered_by_id is None:
        notify.concern(OWNERS_DELEGATES, ask.agent_id)
    else:
        _members(ask.answered_by_id)
    if ask.escalated_to_id is not None:
        _members(ask.escalated_to_id)


def _members(group_id: int) -> None:
    notify.concern(MEMBERS, group_id)
    notify.concern(MEMBERS_DELEGATES, group_id)
