"""The one lock: a session's row. Take it first, inside a transaction, in every verb that writes.

Several sessions are only ever locked in the order of their ids, and an agent's own row before its
sessions, so two transactions cannot wait for each other.

Everything else is read after the lock, the agent too: when a lock had to be waited for, PostgreSQL
reads the locked row again, but a row joined to it stays as it was before the wait.
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
        """A session whose row this transaction has locked. Verbs that change a session ask for one."""

        #: When the lock was taken: the one moment of everything that is done under it.
        locked_at: datetime

    class LockedAgent(Agent):
        """An agent whose row this transaction has locked."""

        locked_at: datetime

    class LockedRun(Run):
        """A run whose row, and whose session, this transaction has locked."""

        session: LockedSession

else:  # for the type checker only: the rows are plain ones
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
    """Lock the first session that a query finds. None if there is none.

    With ``if_free`` also None while another transaction holds it, without waiting.
    """
    found = sessions.order_by("pk").select_for_update(of=("self",), skip_locked=if_free)[:1]
    return next(iter(_with_agents(found).values()), None)


def lock_sessions(session_ids: Iterable[int]) -> dict[int, LockedSession]:
    """Lock several sessions, in the order of their ids. Ids that do not exist are left out."""
    return _with_agents(
        Session.objects.filter(pk__in=set(session_ids)).order_by("pk").select_for_update()
    )


def lock_agent(agent_id: int) -> LockedAgent:
    """Lock an agent whose lifecycle or sessions are about to change. Lock its sessions after it.

    Rows that refer to the agent can still be written meanwhile, so this waits for no session.
    """
    agents = Agent.objects.annotate(read_at=ClockNow()).select_for_update(no_key=True)
    return _locked_agent(agents.get(pk=agent_id))


def share_lock_agent(agent_id: int) -> LockedAgent:
    """Share-lock an agent's row: nobody changes it until the transaction ends.

    Several transactions may hold it at once, so sessions of one agent are opened side by side.
    """
    return _locked_agent(_SHARED.all(agent_id)[0])


def lock_run(run_id: int) -> LockedRun | None:
    """Lock a run and its session in one statement; return the run with both and its agent, or None.

    PostgreSQL locks the session first, then the run, and reads both again if it had to wait. It does
    not read the agent again: call ``lock_session`` if its latest state matters. A run never changes
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
    """Return when a row was read that was selected with ``read_at=ClockNow()``."""
    moment: datetime = vars(row)["read_at"]
    return moment


def _with_agents(locked: QuerySet[Session]) -> dict[int, LockedSession]:
    sessions = {session.pk: session for session in locked}
    wanted = {session.agent_id for session in sessions.values()}
    agents = Agent.objects.annotate(read_at=ClockNow()).in_bulk(wanted) if wanted else {}
    return {pk: _with_agent(session, agents[session.agent_id]) for pk, session in sessions.items()}


def _with_agent(session: Session, agent: Agent) -> LockedSession:
    session.agent = agent
    return mark_locked(session, at=moment_of(agent))


def _locked_agent(agent: Agent) -> LockedAgent:
    locked = cast("LockedAgent", agent)
    locked.locked_at = moment_of(agent)
    return locked
