"""Open the session of an envelope, or find the one it names and continue it."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from agents import controls, next_run, registration, wakes
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.lifecycle import Cause, SessionState
from agents.locking import LockedSession, lock_session
from agents.models import Agent, Session
from workspace.api.attempts import actor_of
from workspace.models import ApiKey
from workspace.protocols.leaf.errors import LeafProblem
from workspace.protocols.leaf.server import state
from workspace.protocols.leaf.server.facts import LeafFacts, facts_in, opened
from workspace.protocols.leaf.wire import Envelope, session_key


def find_session(agent: Agent, session_id: str, tenant: str) -> Session | None:
    """Find the session of an agent by its id and tenant."""
    name = session_key(session_id, tenant)
    session = _NAMED.first(agent.pk, name)
    return session if session and facts_in(session.data) else None


_NAMED = Prepared(
    lambda agent, name: Session.objects.select_related("agent").filter(
        agent=agent, external_id=name
    ),
    of=(int, str),
)


def open_once(agent: Agent, key: ApiKey, facts: LeafFacts) -> Session:
    """Open and start the session of these facts, once. Concurrent calls get the same session."""
    try:
        return _open(agent, key, facts)
    except IntegrityError:  # another call opened it first
        if (found := find_session(agent, facts.session_id, facts.tenant)) is None:
            raise
        return found


def _open(agent: Agent, key: ApiKey, facts: LeafFacts) -> Session:
    def begin(session: LockedSession) -> None:
        session.data = opened(facts)
        words = f"Review {facts.item.item_id}: `{facts.item.pattern}` in {facts.item.file}"
        record_event(session, "message", actor=actor_of(key), text=words)
        next_run.set_requester(session, key.person_id)
        wakes.wake_session(session, Cause.HUMAN)

    name = session_key(facts.session_id, facts.tenant)
    try:
        return registration.open_session(agent, title=facts.title, external_id=name, begin=begin)
    except registration.AgentRetired as error:
        raise LeafProblem(409, "agent_retired", str(error)) from error


def check_same(session: Session, envelope: Envelope, item: object) -> None:
    """Raise LeafProblem if the envelope differs from the session that it names."""
    facts = facts_in(session.data)
    if facts is None or facts.dialect != envelope.dialect:
        raise LeafProblem(409, "envelope_conflict", "This session was opened in the other dialect.")
    if item is not None and item != facts.item:
        raise LeafProblem(409, "envelope_conflict", "This session reviews another item.")
    if facts.refs and envelope.refs and facts.refs.result_ref != envelope.refs.result_ref:
        raise LeafProblem(409, "envelope_conflict", "This session writes to another resultRef.")


@transaction.atomic
def continue_session(session_id: int, key: ApiKey) -> None:
    """Start a failed session again, because its envelope was sent again.

    A session that was given up continues only for a person's key.
    """
    session = lock_session(session_id)
    found = state.current_state(session)
    if found.word not in ("failed", "retrying"):
        return
    if session.state == SessionState.PAUSED:
        if key.person is not None:
            controls.resume_session(session_id=session.pk, by=key.person)
        return
    next_run.set_requester(session, key.person_id)
    wakes.wake_session(session, Cause.HUMAN)
    next_run.queue_next_run(session)
