"""Sessions as their clients know them: opened, found, and shown to nobody who has no business there."""

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
        raise invalid("'agent' holds a character that no name has.")
    try:
        return api_keys.agent_for(key, slug, RUNTIME)
    except api_keys.AgentNotFound as error:
        if error.is_ambiguous:
            words = "This key reaches several agents: name one in the address, as ?agent=…"
            raise EveProblem(400, words, "agent_required") from error
        words = "This key reaches no agent that is served here."
        raise EveProblem(403, words, "forbidden") from error


def open_once(key: ApiKey, create: CreateSession, agent: Agent) -> EveSession:
    """A new session; the one that was opened before by the same operation, if it was."""
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
        words = "This operationId opened a session with another body. Nothing was opened."
        raise EveProblem(409, words, "operation_conflict")
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
    """A session that a key may see: of a person's key all of the agents it reaches.

    A key without a person sees what it opened itself.
    """
    if len(public_id) > 40 or not public_id.isascii() or not public_id.isprintable():
        return None
    found = _NAMED.first(public_id)
    if found is None or found.session.agent.runtime != RUNTIME:
        return None
    if key.person_id is None and found.key_id != key.pk:
        return None
    return found if api_keys.key_reaches(key, found.session.agent) else None


_NAMED = Prepared(
    lambda name: EveSession.objects.filter(public_id=name).select_related("session__agent"),
    of=(str,),
)


def check_is_active(opened: EveSession) -> None:
    """Raise Problem if the session has ended."""
    if opened.session.state == SessionState.ENDED:
        raise not_active()


def lock_active(opened: EveSession | None) -> LockedSession | None:
    """The session locked, if it is there and has not ended."""
    if opened is None:
        return None
    session = lock_session(opened.session_id)
    return None if session.state == SessionState.ENDED else session


def lock_existing(opened: EveSession | None) -> LockedSession:
    """The same. Raises Problem when there is none."""
    session = lock_active(opened)
    if session is None:
        raise not_active()
    return session
