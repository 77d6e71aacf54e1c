"""The one lock: a session's row. Every writer of a session takes it first, inside a transaction.

Several sessions are only ever locked in the order of their ids, and an agent's own row before its
sessions, so two transactions cannot wait for each other.

Everything else is read after the lock, the agent too: when a lock had to be waited for, PostgreSQL
reads the locked row again, but a row joined to it stays as it was before the wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol, cast

from django.db.models import QuerySet

from agents.db.expressions import ClockNow
from agents.db.statements import Prepared
from agents.models import Agent, Run, Session

_SESSION = Prepared(lambda pk: Session.objects.filter(pk=pk).select_for_update())
_AGENT = Prepared(lambda pk: Agent.objects.filter(pk=pk).annotate(read_at=ClockNow()))
_HELD = Prepared(
    lambda pk: Agent.objects.filter(pk=pk).annotate(read_at=ClockNow()), lock="FOR SHARE"
)
_RUN = Prepared(
    lambda pk: (
        Run.objects.filter(pk=pk)
        .select_related("session__agent")
        .annotate(read_at=ClockNow())
        .select_for_update(of=("session", "self"))
    )
)


def lock_session(session_id: int) -> Session:
    """The session, locked until the transaction ends, with its agent and the moment of the lock.

    Raises Session.DoesNotExist, and TransactionManagementError outside a transaction.
    """
    session = _SESSION.first(session_id)
    if session is None:
        raise Session.DoesNotExist(f"There is no session {session_id}.")
    _bring_agent(session, _AGENT.all(session.agent_id)[0])
    return session


def lock_first_session(sessions: QuerySet[Session], *, if_free: bool = False) -> Session | None:
    """The one session that a query finds, locked. None if there is none.

    With ``if_free`` also None while another transaction holds it; it is not waited for.
    """
    found = sessions.order_by("pk").select_for_update(of=("self",), skip_locked=if_free)[:1]
    return next(iter(_with_agents(found).values()), None)


def lock_sessions(session_ids: Iterable[int]) -> dict[int, Session]:
    """Several sessions by id, locked in the one order. Ids that do not exist are left out."""
    return _with_agents(
        Session.objects.filter(pk__in=set(session_ids)).order_by("pk").select_for_update()
    )


def lock_agent(agent_id: int) -> Agent:
    """An agent whose lifecycle or sessions are about to change; its sessions are locked after it.

    Rows that refer to the agent can still be written meanwhile, so this waits for no session. With
    it comes the moment of the lock.
    """
    agent = (
        Agent.objects.annotate(read_at=ClockNow()).select_for_update(no_key=True).get(pk=agent_id)
    )
    agent.locked_at = cast("Read", agent).read_at
    return agent


def share_lock_agent(agent_id: int) -> Agent:
    """An agent whose own row nobody changes until the transaction ends, with the moment of the lock.

    Several may hold it at once: the sessions that they open do not wait for each other.
    """
    agent = _HELD.all(agent_id)[0]
    agent.locked_at = cast("Read", agent).read_at
    return agent


def lock_run(run_id: int) -> Run | None:
    """A run with its session, both locked, and its agent, in one statement; None if there is none.

    The session is locked first, then the run: both are read again when the lock had to be waited
    for, and the moment with them. The agent is not: who needs its latest state asks ``lock_session``.
    A run never changes its session.
    """
    run = _RUN.first(run_id)
    if run is not None:
        run.session.locked_at = cast("Read", run).read_at
    return run


class Read(Protocol):
    """A row read after the lock, and with it the moment of that."""

    read_at: datetime


def _with_agents(locked: QuerySet[Session]) -> dict[int, Session]:
    sessions = {session.pk: session for session in locked}
    wanted = {session.agent_id for session in sessions.values()}
    agents = Agent.objects.annotate(read_at=ClockNow()).in_bulk(wanted) if wanted else {}
    for session in sessions.values():
        _bring_agent(session, agents[session.agent_id])
    return sessions


def _bring_agent(session: Session, agent: Agent) -> None:
    session.agent, session.locked_at = agent, cast("Read", agent).read_at
