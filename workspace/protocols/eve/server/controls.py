"""What a caller does to a session beside talking to it: cancel its turn, clear its memory, end it."""

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


def cancel_session(session: LockedSession, key: ApiKey) -> None:
    """Call off what a locked session is doing or waits for; nothing if it rests. Raises Problem.

    What a person approved is not called off from here: it is theirs to stop.
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
    """Its worker notices when it next renews its claim. What it was told is not told again."""
    owed = InboxItem.objects.filter(session=session, state__in=_NOT_DONE)
    if owed.filter(kind=InboxKind.VERDICT, data__meaning=Meaning.APPROVE).exists():
        words = "This turn carries out what a person approved. Its owner can stop it on its page."
        raise EveProblem(409, words, "approved_turn")
    inbox.release_items(run)
    owed.exclude(kind=InboxKind.MAIL).update(state=InboxState.ACKED, leased_by=None)
    transitions.move_run(session, run, RunStatus.CANCELLED)
    wakes.rest_session(session, wakes.resting_cause(session))


def withdraw_open(session: LockedSession, key: ApiKey) -> None:
    """Withdraw all that is open in a locked session, which takes who may answer it. Raises Problem."""
    asks = decisions.open_asks(session)
    check_owns_turn(session, key)
    for ask in asks:
        assert key.person is not None  # noqa: S101 -- check_theirs has seen to it
        withdrawing.withdraw_locked(session, ask, by=key.person, reason=WHY)


def check_owns_turn(session: Session, key: ApiKey) -> None:
    """Raise Problem unless the key's person may answer, and so close, all that is open."""
    asks = decisions.open_asks(session)
    if not asks:
        return
    decisions.check_may_answer(key, [ask.pk for ask in asks])
    assert key.person is not None  # noqa: S101 -- check_may_answer has seen to it
    person = key.person
    if not all(access.may_answer(person, ask) for ask in asks):
        words = "This session waits for an answer that is not yours to give."
        raise EveProblem(403, words, "not_allowed")


def clear_session(session: LockedSession, key: ApiKey) -> None:
    """Have the agent forget what was said. Raises Problem while a turn is under way."""
    run = transitions.live_run(session)
    if run is not None and run.status != RunStatus.WAITING_HUMAN:
        raise EveProblem(409, "A turn is under way. Cancel it first, or wait.", "turn_active")
    withdraw_open(session, key)
    transitions.store_status(session, transitions.live_run(session))
    conversation.forget_conversation(session.pk)
    session.refresh_from_db(fields=["data"])
    record_event(session, "state", actor=actor_of(key), text="What was said is forgotten.")
    notes.note_cleared(session)


def reset_session(session: LockedSession, key: ApiKey, reason: str) -> None:
    """End a locked session for good: what is open is withdrawn, what runs is stopped. Raises Problem."""
    withdraw_open(session, key)
    run = transitions.live_run(session)
    if run is not None:
        inbox.release_items(run)
        transitions.move_run(session, run, RunStatus.CANCELLED)
    why = f"Ended by its caller: {reason}" if reason.strip() else "Ended by its caller."
    session.state, session.state_reason = SessionState.ENDED, why[:300]
    wakes.rest_session(session, wakes.resting_cause(session))
    record_event(session, "state", actor=actor_of(key), text=why)
    transitions.store_status(session, None)
