"""What follows from a change of an agent: its ledger record, and what becomes of its open asks."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents import transitions
from agents.locking import lock_sessions
from agents.mending.changes import AgentChange
from agents.models import Agent
from asks.ledger.agent_records import record_agent_change
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.withdrawing import withdraw_locked


def follow_change(change: AgentChange) -> None:
    """Record a change, and withdraw what the agent's earlier runtime asked, in one transaction."""
    record_agent_change(change)
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
