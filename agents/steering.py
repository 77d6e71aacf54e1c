"""A person starts, pauses, resumes and retires what works for them."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import clock, events, inbox, moves, starting, waking
from agents.lifecycle import AgentState, Cause, RunStatus, SessionState
from agents.locking import lock_session, lock_sessions
from agents.models import Agent, Run, Session


@transaction.atomic
def start(*, session_id: int, by: AbstractBaseUser) -> Run | None:
    """Start a session now; a draft or paused agent, or a paused session, becomes active.

    While a run is live nothing more is started; the live run is returned. None when it has ended.
    """
    agent = Agent.objects.get(sessions=session_id)
    if agent.lifecycle == AgentState.RETIRED:
        return None
    if agent.lifecycle != AgentState.ACTIVE:
        resume_agent(agent_id=agent.pk, by=by)
    session = lock_session(session_id)
    if session.state == SessionState.ENDED:
        return None
    session.state, session.state_reason = SessionState.ACTIVE, ""
    if moves.live_run(session) is None:
        _say(session, by, "Started.")
        inbox.wake_for_person(session)
        starting.queue_if_due(session)
    moves.restate(session)
    return moves.live_run(session)


@transaction.atomic
def stop(*, session_id: int, by: AbstractBaseUser) -> bool:
    """Stop a run that is queued or under way and pause its session; what it was given stays owed.

    Its worker notices within a third of a lease and ends the process. False if none was.
    """
    session = lock_session(session_id)
    run = moves.live_run(session)
    if run is None or run.status == RunStatus.WAITING_HUMAN:
        return False
    inbox.owed_again(session, run)
    moves.move(run, RunStatus.CANCELLED)
    pause_session(session, reason=f"Stopped by {by.get_username()}.", actor=_human(by))
    return True


def pause_session(session: Session, *, reason: str, actor: str) -> None:
    """Pause a locked session: nothing starts until a person resumes it. What is owed stays owed."""
    session.state, session.state_reason = SessionState.PAUSED, reason
    _withdraw_queued_run(session)
    events.record(session, "state", actor=actor, text=reason)
    moves.restate(session)


def _withdraw_queued_run(session: Session) -> None:
    """A run that has not started gives its wake back."""
    run = moves.live_run(session)
    if run is not None and run.status == RunStatus.QUEUED:
        cause = run.cause
        moves.move(run, RunStatus.CANCELLED)
        waking.wake(session, Cause(cause), clock.now())


@transaction.atomic
def pause_agent(*, agent_id: int, by: AbstractBaseUser) -> None:
    """Pause an agent: its runs end their turn, and none starts until a person resumes it."""
    agent, sessions = _agent_with_sessions(agent_id)
    if agent.lifecycle != AgentState.ACTIVE:
        return
    _set_lifecycle(agent, AgentState.PAUSED)
    for session in sessions:
        session.agent = agent
        _withdraw_queued_run(session)
        _say(session, by, "The agent was paused.")
        moves.restate(session)


@transaction.atomic
def resume_agent(*, agent_id: int, by: AbstractBaseUser) -> None:
    """Resume an agent. What a person answered or wrote meanwhile starts at once."""
    agent, sessions = _agent_with_sessions(agent_id)
    if agent.lifecycle not in (AgentState.PAUSED, AgentState.DRAFT):
        return
    _set_lifecycle(agent, AgentState.ACTIVE)
    for session in sessions:
        session.agent = agent
        _say(session, by, "The agent was resumed.")
        if session.wake_at is None and moves.live_run(session) is None:
            waking.first(session, clock.now())
        starting.queue_if_due(session)
        moves.restate(session)


@transaction.atomic
def resume_session(*, session_id: int, by: AbstractBaseUser) -> None:
    """Resume a paused session. What was owed meanwhile starts at once."""
    session = lock_session(session_id)
    if session.state != SessionState.PAUSED:
        return
    session.state, session.state_reason = SessionState.ACTIVE, ""
    _say(session, by, "The session was resumed.")
    if session.wake_at is None and moves.live_run(session) is None:
        inbox.wake_for_person(session)
    starting.queue_if_due(session)
    moves.restate(session)


def _agent_with_sessions(agent_id: int) -> tuple[Agent, list[Session]]:
    """The sessions first, then the agent: the one order."""
    ids = Session.objects.filter(agent_id=agent_id).values_list("pk", flat=True)
    sessions = list(lock_sessions(ids).values())
    return Agent.objects.select_for_update().get(pk=agent_id), sessions


def _set_lifecycle(agent: Agent, to: AgentState) -> None:
    agent.lifecycle = to
    agent.save(update_fields=["lifecycle"])


def _say(session: Session, by: AbstractBaseUser, text: str) -> None:
    events.record(session, "state", actor=_human(by), text=text)


def _human(by: AbstractBaseUser) -> str:
    return f"human:{by.get_username()}"
