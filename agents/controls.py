"""Start, stop, pause and resume sessions and agents, on behalf of a person."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import actors, inbox, next_run, transitions, wakes
from agents.events import notify
from agents.events.log import record_event
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import LockedAgent, LockedSession, lock_agent, lock_session, lock_sessions
from agents.mending.changes import record_lifecycle
from agents.models import Agent, Run, Session


@transaction.atomic
def start_session(*, session_id: int, by: AbstractBaseUser) -> Run | None:
    """Start a session now, and resume it and its agent first if need be; return its run.

    A run that waits for a person stops waiting; its asks stay open. An answer that could still be
    taken back takes effect. If a run is queued or running
    already, that run is returned. Return None if the session has ended.
    """
    agent = Agent.objects.get(sessions=session_id)
    if agent.lifecycle in (AgentState.DRAFT, AgentState.PAUSED):
        resume_agent(agent_id=agent.pk, by=by)
    session = lock_session(session_id)
    if session.state == SessionState.ENDED:
        return None
    session.state, session.state_reason = SessionState.ACTIVE, ""
    wakes.end_hold(session)
    transitions.release_waiting_run(session)
    live = transitions.live_run(session)
    if live is None:
        _say(session, by, "Started.")
        next_run.set_requester(session, by.pk)
        wakes.wake_session(session, Cause.HUMAN)
    return next_run.queue_next_run(session) or live


@transaction.atomic
def stop_session(*, session_id: int, by: AbstractBaseUser) -> bool:
    """Cancel a queued or running run and pause its session. False if there is no such run.

    The run's inbox items are queued again. Its worker ends the process when it next tries to renew
    the claim.
    """
    session = lock_session(session_id)
    run = transitions.live_run(session)
    if run is None or run.status == RunStatus.WAITING_HUMAN:
        return False
    inbox.release_items(run)
    transitions.move_run(session, run, RunStatus.CANCELLED)
    why = f"Stopped by {by.get_username()}."
    pause_session(session, reason=why, actor=_human(by), stopped=run)
    return True


def pause_session(
    session: LockedSession, *, reason: str, actor: str, stopped: Run | None = None
) -> None:
    """Pause a session: nothing starts until a person resumes it. Its inbox items are kept.

    ``stopped`` is the run that was cancelled with it; the event refers to it.
    """
    session.state, session.state_reason = SessionState.PAUSED, reason
    transitions.set_failing(session, failing=False)
    record_event(session, "state", actor=actor, text=reason, run=stopped)
    _cancel_queued_run(session)


@transaction.atomic
def retry_failing(*, agent_id: int, by: AbstractBaseUser) -> int:
    """Start every failing session of an agent now; return how many.

    Each session goes on counting as failing until a turn of it succeeds.
    """
    failing = Session.objects.filter(agent=agent_id, failing_since__isnull=False)
    ids = failing.exclude(state=SessionState.ENDED).values_list("pk", flat=True)
    started = 0
    for session in lock_sessions(list(ids)).values():
        if not session.is_failing or session.agent.lifecycle != AgentState.ACTIVE:
            continue
        session.state, session.state_reason = SessionState.ACTIVE, ""
        if transitions.live_run(session) is None:
            _say(session, by, "Tried again.")
            next_run.set_requester(session, by.pk)
            wakes.wake_session(session, Cause.HUMAN)
        next_run.queue_next_run(session)
        started += 1
    return started


@transaction.atomic
def resume_session(*, session_id: int, by: AbstractBaseUser) -> None:
    """Resume a paused session. It continues at once, with what has arrived meanwhile."""
    session = lock_session(session_id)
    if session.state != SessionState.PAUSED:
        return
    session.state, session.state_reason = SessionState.ACTIVE, ""
    _say(session, by, "The session was resumed.")
    if transitions.live_run(session) is None:
        wakes.wake_session(session, Cause.HUMAN)
    next_run.queue_next_run(session)


@transaction.atomic
def pause_agent(*, agent_id: int, by: AbstractBaseUser) -> None:
    """Pause an agent. Running turns end normally; no run starts until a person resumes the agent."""
    agent = lock_agent(agent_id)
    if agent.lifecycle != AgentState.ACTIVE:
        return
    before = agent.lifecycle
    for session in _sessions_as(agent, AgentState.PAUSED):
        _say(session, by, "The agent was paused.")
        _cancel_queued_run(session)
    record_lifecycle(agent, "paused", by, before)


@transaction.atomic
def resume_agent(*, agent_id: int, by: AbstractBaseUser) -> None:
    """Resume an agent. Sessions that a person answered or wrote to meanwhile start at once."""
    agent = lock_agent(agent_id)
    if agent.lifecycle not in (AgentState.PAUSED, AgentState.DRAFT):
        return
    before = agent.lifecycle
    first = before == AgentState.DRAFT
    for session in _sessions_as(agent, AgentState.ACTIVE):
        _say(session, by, "Started for the first time." if first else "The agent was resumed.")
        if transitions.live_run(session) is None:
            _wake_again(session)
        next_run.queue_next_run(session)
    record_lifecycle(agent, "started" if first else "resumed", by, before)


def _wake_again(session: LockedSession) -> None:
    """Wake a session whose agent was resumed. A blocked session keeps waiting for a person."""
    if inbox.has_waiting_items(session):
        wakes.wake_session(session, Cause.HUMAN)
    elif session.wake_at is None and session.wake_cause != Cause.BLOCKED:
        wakes.set_first_wake(session)


def _sessions_as(agent: LockedAgent, lifecycle: AgentState) -> list[LockedSession]:
    """Store an agent's new lifecycle; lock and return its sessions that have not ended."""
    agent.lifecycle = lifecycle
    agent.save(update_fields=["lifecycle"])
    notify.notify_owners_changed(agent.pk)
    ids = agent.sessions.exclude(state=SessionState.ENDED).values_list("pk", flat=True)
    return list(lock_sessions(ids).values())


def _cancel_queued_run(session: LockedSession) -> None:
    """Cancel the session's run if it is only queued, and store the session's status."""
    run = transitions.live_run(session)
    if run is not None and run.status == RunStatus.QUEUED:
        next_run.cancel_run(session, run)
        run = None
    transitions.store_status(session, run)


def _say(session: LockedSession, by: AbstractBaseUser, text: str) -> None:
    record_event(session, "state", actor=_human(by), text=text)


def _human(by: AbstractBaseUser) -> str:
    return actors.human(by)
