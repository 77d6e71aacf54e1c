"""Give grants to turns, and end them with the turn, a message, a stop, or the session.

A listener of the session's events, so it acts under the session's lock and in their transaction:

    started   every live grant is checked, and the rest is given to this turn
    ended     what the turn did not use lapses; what an agent elsewhere was told counts as used
    message   every live grant lapses: whoever writes may have said something else meanwhile
    state     every live grant lapses if the turn was stopped or the session ended
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from agents.db import statements
from agents.db.expressions import database_now
from agents.lifecycle import InboxKind, InboxState, RunStatus, SessionState
from agents.locking import LockedSession, lock_first_session
from agents.models import Event, InboxItem, Run, Session
from agents.running import runtime
from asks.actions import grant_checks, grant_ends
from asks.models import Grant, GrantEnd, GrantState

_GIVE = "UPDATE asks_grant SET run_id = %s WHERE id = ANY(%s) AND state = 'minted' RETURNING id"
_KEEP = "UPDATE asks_grant SET run_id = NULL WHERE id = ANY(%s) AND state = 'minted' RETURNING id"


def follow_turns(session: LockedSession, events: Sequence[Event]) -> None:
    """Act on what happened in a session. Called with each of its events."""
    for event in events:
        if event.kind == "started" and event.run is not None:
            _give_to(session, event.run)
        elif event.kind == "ended" and event.run is not None:
            _end_with(session, event.run)
        elif event.kind == "message":
            _lapse_all(session, GrantEnd.MESSAGE, event.actor)
        elif event.kind == "state" and (why := _why_over(session, event)):
            _lapse_all(session, why, event.actor)


def lapse_stale_grants() -> int:
    """End every grant that is over without an event of its session: in time, or for lack of rights.

    Return how many. Safe to call from several processes at once.
    """
    live = Grant.objects.filter(state=GrantState.MINTED).select_related("ask", "run", "session")
    now = database_now()
    stale = {grant.session_id for grant in live.iterator() if grant_checks.find_end(grant, at=now)}
    return sum(_lapse_stale(session_id) for session_id in sorted(stale))


@transaction.atomic
def _lapse_stale(session_id: int) -> int:
    session = lock_first_session(Session.objects.filter(pk=session_id), if_free=True)
    return 0 if session is None else len(_lapse_those_over(session)[1])


def _lapse_those_over(session: LockedSession) -> tuple[list[Grant], list[Grant]]:
    """Check the live grants of a session. Return those that are good, and those that now lapsed."""
    good, over = [], []
    for grant in grant_ends.live_grants_of(session):
        grant.session = session
        if (why := grant_checks.find_end(grant, at=session.locked_at)) is None:
            good.append(grant)
        elif grant_ends.lapse_grant(session, grant, why):
            over.append(grant)
    return good, over


def _give_to(session: LockedSession, run: Run) -> None:
    """Give a turn the grants of the verdicts that it is about to be given. The rest must be good too."""
    elsewhere = [
        one for one in grant_ends.live_grants_of(session) if one.run_id not in (None, run.pk)
    ]
    grant_ends.lapse_grants(session, elsewhere, GrantEnd.TURN_OVER)
    good, _over = _lapse_those_over(session)
    owed = _owed_verdicts(session) if good else ()
    given = [grant.pk for grant in good if _subject_of(grant) in owed]
    if given:
        statements.query(_GIVE, run.pk, given)


def _owed_verdicts(session: Session) -> set[object]:
    """Return what the owed verdicts of a session are about: ids of asks, or digests of actions."""
    owed = InboxItem.objects.filter(
        session=session,
        kind=InboxKind.VERDICT,
        state__in=(InboxState.QUEUED, InboxState.LEASED),
    )
    data = owed.values_list("data__ask_id", "data__allowed")
    return {ask_id or digest for ask_id, digest in data}


def _subject_of(grant: Grant) -> object:
    return grant.ask_id or grant.action_hash


def _end_with(session: LockedSession, run: Run) -> None:
    """End the grants of a turn that is over, however it ended.

    An agent elsewhere has been told what was approved, if the turn completed. If not, the approval is
    still owed, and goes with the next turn.
    """
    mine = [grant for grant in grant_ends.live_grants_of(session) if grant.run_id == run.pk]
    if not _hands_over(session):
        grant_ends.lapse_grants(session, mine, GrantEnd.TURN_OVER)
    elif run.status == RunStatus.FAILED:
        statements.query(_KEEP, [grant.pk for grant in mine])
    else:
        for grant in mine:
            grant_ends.hand_over(session, grant, run)


def _hands_over(session: Session) -> bool:
    """Whether the agent's runtime hands approvals to an agent elsewhere, and takes no grants itself."""
    try:
        taker: object = runtime.find_runtime(session.agent.runtime)
    except LookupError:
        return False
    return bool(getattr(taker, "hands_over_approvals", False))


def _why_over(session: LockedSession, event: Event) -> GrantEnd | None:
    if session.state == SessionState.ENDED:
        return GrantEnd.ENDED
    stopped = event.run is not None and event.run.status == RunStatus.CANCELLED
    return GrantEnd.STOPPED if stopped else None


def _lapse_all(session: LockedSession, why: GrantEnd, actor: str) -> None:
    grant_ends.lapse_grants(session, grant_ends.live_grants_of(session), why, actor=actor)
