"""Open, find and lock the sessions of eve clients. A session is visible only to keys that reach it."""

from __future__ import annotations

from django.db import IntegrityError

from agents.db import statements
from agents.db.statements import Prepared
from agents.lifecycle import SessionState
from agents.locking import LockedSession, lock_session
from agents.models import Agent, Session
from agents.registration import AgentRetired, open_session
from agents.text.storable import is_storable
from workspace.accounts import api_keys
from workspace.api.attempts import actor_of
from workspace.models import ApiKey
from workspace.protocols.eve.errors import EveProblem, invalid, not_active
from workspace.protocols.eve.models import EveSession
from workspace.protocols.eve.server import ids, messages
from workspace.protocols.eve.wire import CreateSession

RUNTIME = "eve"
TITLE = 120


def find_agent(key: ApiKey, slug: str) -> Agent:
    """Return the agent that a key reaches. Raises EveProblem."""
    if not is_storable(slug):
        raise invalid("'agent' contains a character that no name has.")
    try:
        return api_keys.agent_for(key, slug, RUNTIME)
    except api_keys.AgentNotFound as error:
        if error.is_ambiguous:
            detail = "This key reaches several agents: name one in the URL, as ?agent=…"
            raise EveProblem(400, detail, "agent_required") from error
        detail = "This key reaches no agent that is served here."
        raise EveProblem(403, detail, "forbidden") from error


def open_once(key: ApiKey, create: CreateSession, agent: Agent) -> EveSession:
    """Open a session, or return the one that the same operation opened before."""
    if create.operation and (before := _opened_before(key, create)) is not None:
        return before
    try:
        return _opened(key, create, agent)
    except IntegrityError:
        if (before := _opened_before(key, create)) is None:
            raise
        return before


def _opened_before(key: ApiKey, create: CreateSession) -> EveSession | None:
    named = EveSession.objects.filter(principal=actor_of(key), operation=create.operation)
    before = named.select_related("session__agent").first()
    if before is not None and before.body != create.digest:
        detail = "This operationId opened a session with another body. Nothing was opened."
        raise EveProblem(409, detail, "operation_conflict")
    return before


def _opened(key: ApiKey, create: CreateSession, agent: Agent) -> EveSession:
    made: list[EveSession] = []

    def begin(session: LockedSession) -> None:
        made.append(_named(session, key, create))
        if create.message:
            messages.begin_with_message(
                session, key, create.message, create.context, messages.new_delivery()
            )

    try:
        open_session(agent, title=create.message.strip()[:TITLE], begin=begin)
    except AgentRetired as error:
        raise EveProblem(403, str(error), "forbidden") from error
    return made[0]


def _named(session: Session, key: ApiKey, create: CreateSession) -> EveSession:
    return statements.insert(
        EveSession(
            session=session,
            public_id=ids.new_session_id(),
            token=ids.new_token(),
            key=key,
            principal=actor_of(key),
            operation=create.operation,
            body=create.digest,
        )
    )


def find_session(key: ApiKey, public_id: str) -> EveSession | None:
    """Find a session that a key may see. A person's key sees every session of the agents it reaches.

    A key without a person sees only the sessions that it opened.
    """
    if len(public_id) > 40 or not public_id.isascii() or not public_id.isprintable():
        return None
    opened = _NAMED.first(public_id)
    if opened is None or opened.session.agent.runtime != RUNTIME:
        return None
    if key.person_id is None and opened.key_id != key.pk:
        return None
    return opened if api_keys.key_reaches(key, opened.session.agent) else None


_NAMED = Prepared(
    lambda name: EveSession.objects.filter(public_id=name).select_related("session__agent"),
    of=(str,),
)


def check_is_active(opened: EveSession) -> None:
    """Raise EveProblem if the session has ended."""
    if opened.session.state == SessionState.ENDED:
        raise not_active()


def lock_active(opened: EveSession | None) -> LockedSession | None:
    """Lock the session. Return None if there is none or it has ended."""
    if opened is None:
        return None
    session = lock_session(opened.session_id)
    return None if session.state == SessionState.ENDED else session


def lock_existing(opened: EveSession | None) -> LockedSession:
    """Lock the session. Raises EveProblem if there is none or it has ended."""
    session = lock_active(opened)
    if session is None:
        raise not_active()
    return session
