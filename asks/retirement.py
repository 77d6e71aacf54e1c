"""Retire an agent for good: withdraw its open asks, cancel its runs and end its sessions."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _

from agents import actors, inbox, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import AgentState, RunStatus, SessionState
from agents.locking import LockedSession, lock_agent, lock_sessions
from agents.models import Session
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.withdrawing import withdraw_locked


@transaction.atomic
def retire_agent(*, agent_id: int, by: AbstractBaseUser) -> bool:
    """Retire an agent. Return False if it is retired already.

    Undelivered inbox items stay on record; no run delivers them.
    """
    agent = lock_agent(agent_id)
    if agent.lifecycle == AgentState.RETIRED:
        return False
    agent.lifecycle = AgentState.RETIRED
    agent.save(update_fields=["lifecycle"])
    ids = agent.sessions.exclude(state=SessionState.ENDED).values_list("pk", flat=True)
    for session in lock_sessions(ids).values():
        _end(session, by)
    return True


def _end(session: LockedSession, by: AbstractBaseUser) -> None:
    """End a session: cancel its run, withdraw its open asks."""
    # The run first, so that closing the last ask does not continue it.
    run = transitions.live_run(session)
    if run is not None:
        inbox.release_items(run)
        transitions.move_run(session, run, RunStatus.CANCELLED)
    for ask_id in _open_asks(session):
        ask = Ask.objects.select_related("run", "gate").get(pk=ask_id)
        withdraw_locked(session, ask, by=by, reason=_("The agent was retired."))
    why = _("Retired by {name}.").format(name=by.get_username())
    session.state, session.state_reason = SessionState.ENDED, why
    wakes.rest_session(session, wakes.resting_cause(session))
    record_event(session, "state", actor=actors.human(by), text=why)
    transitions.store_status(session, None)


def _open_asks(session: Session) -> list[int]:
    still_open = session.asks.filter(status=AskStatus.OPEN).order_by("pk")
    return list(still_open.values_list("pk", flat=True))
