"""What follows from a change of an agent: its ledger record, and what becomes of its open asks."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents import actors, transitions
from agents.locking import lock_sessions
from agents.mending.changes import AgentChange
from agents.models import Agent
from asks.actions import grant_ends
from asks.ledger.agent_records import record_agent_change
from asks.lifecycle import AskStatus
from asks.models import Ask, GrantEnd
from asks.withdrawing import withdraw_locked

#: Changed fields after which an approval that was not used yet is void: it was of another agent.
ENDS_GRANTS = frozenset({"mission", "contract", "runtime", "settings"})


def follow_change(change: AgentChange) -> None:
    """Record a change, and end what was approved or asked for the agent as it was before.

    The caller holds the lock of the agent's row, and reads its sessions again afterwards.
    """
    record_agent_change(change)
    if any(name.partition(".")[0] in ENDS_GRANTS for name in change.fields):
        actor = actors.human(change.by) if change.by else actors.SYSTEM
        grant_ends.lapse_grants_of_agent(change.agent.pk, GrantEnd.EDITED, actor=actor)
    if "runtime" in change.fields and change.what == "edited" and change.by is not None:
        _withdraw_open(change.agent, by=change.by)


def _withdraw_open(agent: Agent, *, by: AbstractBaseUser) -> None:
    """Withdraw every open ask of an agent: another runtime would not understand the answer."""
    waiting = Ask.objects.filter(agent=agent, status=AskStatus.OPEN)
    by_session: dict[int, list[int]] = {}
    for session_id, pk in waiting.order_by("pk").values_list("session_id", "pk"):
        by_session.setdefault(session_id, []).append(pk)
    for session in lock_sessions(by_session).values():
        for pk in by_session[session.pk]:
            ask = Ask.objects.select_related("run", "gate").get(pk=pk)
            withdraw_locked(session, ask, by=by, reason=_("The agent was given another runtime."))
        transitions.store_status(session, transitions.live_run(session))
