"""Control a session on behalf of a caller: cancel its turn, clear its memory, end it."""

from __future__ import annotations

from agents import inbox, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import InboxKind, InboxState, RunStatus, SessionState
from agents.locking import LockedSession
from agents.models import InboxItem, Run, Session
from asks import access, withdrawing
from asks.lifecycle import Meaning
from workspace.api.attempts import actor_of
from workspace.models import ApiKey
from workspace.protocols.eve.agent import conversation
from workspace.protocols.eve.errors import EveProblem
from workspace.protocols.eve.server import decisions, notes

WHY = "Cancelled by its caller. Nothing was approved."
_NOT_DONE = (InboxState.QUEUED, InboxState.LEASED)


def cancel_locked(session: LockedSession, key: ApiKey) -> None:
    """Cancel the session's turn or withdraw what it asks. A session at rest stays as it is.

    An approved turn is not cancelled: only its owner may stop it. Raises EveProblem.
    """
    run = transitions.live_run(session)
    if run is None:
        return
    if run.status == RunStatus.WAITING_HUMAN:
        withdraw_open(session, key)
    else:
        _stop(session, run)
    transitions.store_status(session, transitions.live_run(session))
    notes.note_cancelled(session)


def _stop(session: LockedSession, run: Run) -> None:
    """Cancel a run. Its worker notices at the next renewal of its claim.

    What the run was given is not given to another run.
    """
    owed = InboxItem.objects.filter(session=session, state__in=_NOT_DONE)
    if owed.filter(kind=InboxKind.VERDICT, data__meaning=Meaning.APPROVE).exists():
        detail = "This turn carries out what a person approved. Its owner can stop it on its page."
        raise EveProblem(409, detail, "approved_turn")
    inbox.release_items(run)
    owed.exclude(kind=InboxKind.MAIL).update(state=InboxState.ACKED, leased_by=None)
    transitions.move_run(session, run, RunStatus.CANCELLED)
    wakes.rest_session(session, wakes.resting_cause(session))


def withdraw_open(session: LockedSession, key: ApiKey) -> None:
    """Withdraw every open ask of the session. Raises EveProblem unless the key may answer them."""
    asks = decisions.open_asks(session)
    check_owns_turn(session, key)
    for ask in asks:
        assert key.person is not None  # noqa: S101 -- check_owns_turn has checked this
        withdrawing.withdraw_locked(session, ask, by=key.person, reason=WHY)


def check_owns_turn(session: Session, key: ApiKey) -> None:
    """Raise EveProblem unless the key's person may answer, and so withdraw, every open ask."""
    asks = decisions.open_asks(session)
    if not asks:
        return
    decisions.check_may_answer(key, [ask.pk for ask in asks])
    assert key.person is not None  # noqa: S101 -- check_may_answer has checked this
    person = key.person
    if not all(access.may_answer(person, ask) for ask in asks):
        detail = "This session waits for an answer that only other people can give."
        raise EveProblem(403, detail, "not_allowed")


def clear_locked(session: LockedSession, key: ApiKey) -> None:
    """Clear the agent's memory of the session. Raises EveProblem while a turn is running."""
    run = transitions.live_run(session)
    if run is not None and run.status != RunStatus.WAITING_HUMAN:
        raise EveProblem(409, "A turn is running. Cancel it first, or wait.", "turn_active")
    withdraw_open(session, key)
    transitions.store_status(session, transitions.live_run(session))
    conversation.forget_conversation(session.pk)
    session.refresh_from_db(fields=["data"])
    record_event(session, "state", actor=actor_of(key), text="The agent's memory was cleared.")
    notes.note_cleared(session)


def reset_locked(session: LockedSession, key: ApiKey, reason: str) -> None:
    """End a session for good: withdraw its open asks and cancel its run. Raises EveProblem."""
    withdraw_open(session, key)
    run = transitions.live_run(session)
    if run is not None:
        inbox.release_items(run)
        transitions.move_run(session, run, RunStatus.CANCELLED)
    why = f"Ended by its caller: {reason}" if reason.strip() else "Ended by its caller."
    session.state, session.state_reason = SessionState.ENDED, why[:300]
    transitions.set_failing(session, failing=False)
    wakes.rest_session(session, wakes.resting_cause(session))
    record_event(session, "state", actor=actor_of(key), text=why)
    transitions.store_status(session, None)
