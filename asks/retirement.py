"""Retire an agent: withdraw its open asks, cancel its runs and end its sessions. Restore it later.

Restoring brings back the sessions that the retirement ended, not the asks that it withdrew.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _

from agents import actors, inbox, next_run, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import AgentState, RunStatus, SessionState
from agents.locking import LockedSession, lock_agent, lock_sessions
from agents.mending.changes import record_lifecycle
from agents.models import Agent, Event, Session
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
    before, agent.lifecycle = agent.lifecycle, AgentState.RETIRED
    agent.save(update_fields=["lifecycle"])
    ids = agent.sessions.exclude(state=SessionState.ENDED).values_list("pk", flat=True)
    for session in lock_sessions(ids).values():
        _end(session, by)
    record_lifecycle(agent, "retired", by, before)
    return True


@transaction.atomic
def restore_agent(*, agent_id: int, by: AbstractBaseUser) -> bool:
    """Restore a retired agent, paused. Return False if it is not retired.

    Nothing starts before a person resumes it. Messages that came before the retirement still wait.
    """
    agent = lock_agent(agent_id)
    if agent.lifecycle != AgentState.RETIRED:
        return False
    before, agent.lifecycle = agent.lifecycle, AgentState.PAUSED
    agent.save(update_fields=["lifecycle"])
    for session in lock_sessions(_ended_by_retirement(agent)).values():
        session.state, session.state_reason = SessionState.ACTIVE, ""
        why = _("Restored by {name}.").format(name=by.get_username())
        record_event(session, "state", actor=actors.human(by), text=why)
        transitions.store_status(session, None)
    record_lifecycle(agent, "restored", by, before)
    return True


def _ended_by_retirement(agent: Agent) -> list[int]:
    """Return the ids of the home session and of the sessions whose last change was a retirement."""
    ended = agent.sessions.filter(state=SessionState.ENDED)
    changes = Event.objects.filter(session__in=ended, kind="state").order_by("session_id", "-seq")
    last = changes.distinct("session_id").values_list("session_id", "data")
    retired = {pk for pk, data in last if data.get("retired")}
    return [pk for pk, home in ended.values_list("pk", "is_home") if home or pk in retired]


def _end(session: LockedSession, by: AbstractBaseUser) -> None:
    """End a session: cancel its run, withdraw its open asks."""
    # The run first, so that closing the last ask does not continue it.
    run = transitions.live_run(session)
    if run is not None:
        inbox.release_items(run)
        transitions.move_run(session, run, RunStatus.CANCELLED)
    next_run.release_held(session)
    for ask_id in _open_asks(session):
        ask = Ask.objects.select_related("run", "gate").get(pk=ask_id)
        withdraw_locked(session, ask, by=by, reason=_("The agent was retired."))
    why = _("Retired by {name}.").format(name=by.get_username())
    session.state, session.state_reason = SessionState.ENDED, why
    transitions.set_failing(session, failing=False)
    wakes.rest_session(session, wakes.resting_cause(session))
    record_event(session, "state", actor=actors.human(by), text=why, data={"retired": True})
    transitions.store_status(session, None)


def _open_asks(session: Session) -> list[int]:
    still_open = session.asks.filter(status=AskStatus.OPEN).order_by("pk")
    return list(still_open.values_list("pk", flat=True))
