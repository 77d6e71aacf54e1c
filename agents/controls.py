"""A person starts, stops, pauses and resumes what works for them."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import actors, inbox, next_run, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import LockedSession, lock_agent, lock_session, lock_sessions
from agents.models import Agent, Run


@transaction.atomic
def start_session(*, session_id: int, by: AbstractBaseUser) -> Run | None:
    """Start a session now; a draft or paused agent, or a paused session, becomes active.

    A run that waits for a person is let go, and its asks stay open. While a run is queued or under
    way nothing more is started and that run is returned. None when the session has ended.
    """
    agent = Agent.objects.get(sessions=session_id)
    if agent.lifecycle in (AgentState.DRAFT, AgentState.PAUSED):
        resume_agent(agent_id=agent.pk, by=by)
    session = lock_session(session_id)
    if session.state == SessionState.ENDED:
        return None
    session.state, session.state_reason = SessionState.ACTIVE, ""
    transitions.release_waiting_run(session)
    live = transitions.live_run(session)
    if live is None:
        _say(session, by, "Started.")
        next_run.set_requester(session, by.pk)
        wakes.wake_session(session, Cause.HUMAN)
    return next_run.queue_next_run(session) or live


@transaction.atomic
def stop_session(*, session_id: int, by: AbstractBaseUser) -> bool:
    """Stop a run that is queued or under way and pause its session; what it was given stays owed.

    Its worker notices when it next renews its claim, and ends the process. False if none was.
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
    """Pause a locked session: nothing starts until a person resumes it. What is owed stays owed.

    ``stopped`` is the run that was cancelled with it, for whoever follows that.
    """
    session.state, session.state_reason = SessionState.PAUSED, reason
    record_event(session, "state", actor=actor, text=reason, run=stopped)
    _restate_without_queued_run(session)


@transaction.atomic
def resume_session(*, session_id: int, by: AbstractBaseUser) -> None:
    """Resume a paused session. It goes on at once, with what was owed meanwhile."""
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
    """Pause an agent: its runs end their turn, and none starts until a person resumes it."""
    agent = lock_agent(agent_id)
    if agent.lifecycle != AgentState.ACTIVE:
        return
    for session in _sessions_as(agent, AgentState.PAUSED):
        _say(session, by, "The agent was paused.")
        _restate_without_queued_run(session)


@transaction.atomic
def resume_agent(*, agent_id: int, by: AbstractBaseUser) -> None:
    """Resume an agent. What a person answered or wrote meanwhile starts at once."""
    agent = lock_agent(agent_id)
    if agent.lifecycle not in (AgentState.PAUSED, AgentState.DRAFT):
        return
    first = agent.lifecycle == AgentState.DRAFT
    for session in _sessions_as(agent, AgentState.ACTIVE):
        _say(session, by, "Started for the first time." if first else "The agent was resumed.")
        if transitions.live_run(session) is None:
            _wake_again(session)
        next_run.queue_next_run(session)


def _wake_again(session: LockedSession) -> None:
    """What is owed comes first; a session that says it is blocked still needs a person's words."""
    if inbox.has_waiting_items(session):
        wakes.wake_session(session, Cause.HUMAN)
    elif session.wake_at is None and session.wake_cause != Cause.BLOCKED:
        wakes.set_first_wake(session)


def _sessions_as(agent: Agent, lifecycle: AgentState) -> list[LockedSession]:
    """The sessions of a locked agent that have not ended, locked, with its new lifecycle."""
    agent.lifecycle = lifecycle
    agent.save(update_fields=["lifecycle"])
    ids = agent.sessions.exclude(state=SessionState.ENDED).values_list("pk", flat=True)
    return list(lock_sessions(ids).values())


def _restate_without_queued_run(session: LockedSession) -> None:
    run = transitions.live_run(session)
    if run is not None and run.status == RunStatus.QUEUED:
        next_run.cancel_run(session, run)
        run = None
    transitions.store_status(session, run)


def _say(session: LockedSession, by: AbstractBaseUser, text: str) -> None:
    record_event(session, "state", actor=_human(by), text=text)


def _human(by: AbstractBaseUser) -> str:
    return actors.human(by)
