"""Lock a session's row: the one lock. Every verb that writes takes it first, inside a transaction.

To avoid deadlocks, lock several sessions in the order of their ids, and an agent's row before the
rows of its sessions.

Read everything else after the lock, including the agent. After waiting for a lock, PostgreSQL
re-reads the locked row, but a row joined to it keeps the values from before the wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, cast

from django.db.models import Model, QuerySet

from agents.db.expressions import ClockNow
from agents.db.statements import Prepared
from agents.models import Agent, Run, Session

if TYPE_CHECKING:

    class LockedSession(Session):
        """A session whose row this transaction has locked. Functions that change a session take one."""

        #: When the lock was taken. Everything done under the lock uses this moment.
        locked_at: datetime

    class LockedAgent(Agent):
        """An agent whose row this transaction has locked."""

        locked_at: datetime

    class LockedRun(Run):
        """A run whose row this transaction has locked, together with its session."""

        session: LockedSession

else:  # only the type checker distinguishes them
    LockedSession, LockedAgent, LockedRun = Session, Agent, Run

_SESSION = Prepared(lambda pk: Session.objects.filter(pk=pk).select_for_update())
_AGENT = Prepared(lambda pk: Agent.objects.filter(pk=pk).annotate(read_at=ClockNow()))
_SHARED = Prepared(
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


def lock_session(session_id: int) -> LockedSession:
    """Lock a session until the transaction ends; return it with its agent.

    Raises Session.DoesNotExist, and TransactionManagementError outside a transaction.
    """
    session = _SESSION.first(session_id)
    if session is None:
        raise Session.DoesNotExist(f"There is no session {session_id}.")
    return _with_agent(session, _AGENT.all(session.agent_id)[0])


def lock_first_session(
    sessions: QuerySet[Session], *, if_free: bool = False
) -> LockedSession | None:
    """Lock the first session of a query; return None if the query is empty.

    With ``if_free``, do not wait: return None if another transaction holds the lock.
    """
    first = sessions.order_by("pk").select_for_update(of=("self",), skip_locked=if_free)[:1]
    return next(iter(_with_agents(first).values()), None)


def lock_sessions(session_ids: Iterable[int]) -> dict[int, LockedSession]:
    """Lock several sessions in the order of their ids; return them by id. Skip unknown ids."""
    return _with_agents(
        Session.objects.filter(pk__in=set(session_ids)).order_by("pk").select_for_update()
    )


def lock_agent(agent_id: int) -> LockedAgent:
    """Lock an agent before changing its lifecycle or its sessions. Lock its sessions afterwards.

    Other transactions can still write rows that refer to the agent, so this waits for no session.
    """
    agents = Agent.objects.annotate(read_at=ClockNow()).select_for_update(no_key=True)
    return _locked_agent(agents.get(pk=agent_id))


def share_lock_agent(agent_id: int) -> LockedAgent:
    """Share-lock an agent's row: nobody changes it until the transaction ends.

    Several transactions may hold this lock at once, so an agent's sessions can be opened in parallel.
    """
    return _locked_agent(_SHARED.all(agent_id)[0])


def lock_run(run_id: int) -> LockedRun | None:
    """Lock a run and its session in one statement; return the run with its session and agent, or None.

    PostgreSQL locks the session first, then the run, and re-reads both if it had to wait. It does
    not re-read the agent: call ``lock_session`` if its latest state matters. A run never changes
    its session.
    """
    run = _RUN.first(run_id)
    if run is None:
        return None
    mark_locked(run.session, at=moment_of(run))
    return cast("LockedRun", run)


def mark_locked(session: Session, *, at: datetime) -> LockedSession:
    """Declare that this transaction holds a session's lock, since ``at``."""
    locked = cast("LockedSession", session)
    locked.locked_at = at
    return locked


def moment_of(row: Model) -> datetime:
    """Return when a row was read. The query must annotate ``read_at=ClockNow()``."""
    moment: datetime = vars(row)["read_at"]
    return moment


def _with_agents(locked: QuerySet[Session]) -> dict[int, LockedSession]:
    sessions = {session.pk: session for session in locked}
    ids = {session.agent_id for session in sessions.values()}
    agents = Agent.objects.annotate(read_at=ClockNow()).in_bulk(ids) if ids else {}
    return {pk: _with_agent(session, agents[session.agent_id]) for pk, session in sessions.items()}


def _with_agent(session: Session, agent: Agent) -> LockedSession:
    session.agent = agent
    return mark_locked(session, at=moment_of(agent))


def _locked_agent(agent: Agent) -> LockedAgent:
    locked = cast("LockedAgent", agent)
    locked.locked_at = moment_of(agent)
    return locked
