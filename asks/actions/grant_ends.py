"""End grants: each end is a state of the row, a record in the ledger, and an event in the thread.

A grant that ends unused tells the agent too: its verdict, if no completed turn has carried it yet, is
delivered with ``ended`` in its data. Whoever wants the action then is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents import actors, inbox
from agents.db import statements
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import LockedSession, lock_sessions
from agents.models import Run, Session
from asks.actions.action_words import name_action
from asks.ledger import chain
from asks.models import Effect, EffectEnd, Grant, GrantEnd, GrantState, Redemption

_END = """
UPDATE asks_grant SET state = %s, "end" = %s, ended_at = clock_timestamp(), ended_by_id = %s
WHERE id = %s AND state = 'minted' RETURNING id
"""
_USE = """
UPDATE asks_grant SET state = 'used', ended_at = clock_timestamp()
WHERE id = %s AND state = 'taken' RETURNING id
"""
_TAKE = """
UPDATE asks_grant SET state = 'taken', run_id = %s WHERE id = %s AND state = 'minted' RETURNING id
"""
#: The live grants of a session, oldest first.
_LIVE = Prepared(
    lambda session: (
        Grant.objects.filter(session=session, state=GrantState.MINTED)
        .select_related("ask", "run")
        .order_by("pk")
    )
)


def live_grants_of(session: Session) -> list[Grant]:
    """Return the grants of a session that were neither taken nor ended, oldest first."""
    return _LIVE.all(session.pk)


def lapse_grant(
    session: LockedSession, grant: Grant, why: GrantEnd, *, actor: str = "system"
) -> bool:
    """End a grant that was not used. False if it was taken or has ended already."""
    if not _end(grant, GrantState.LAPSED, why, None):
        return False
    text = _("The approval of {action} was not used and has lapsed. {why}")
    if grant.ask_id is None:
        text = _("The permission of {action} by the policy was not used and has lapsed. {why}")
    _report(session, grant, text.format(action=_named(grant), why=why.label), actor)
    _record("grant_lapsed", session, grant, actor)
    return True


def withdraw_grant(
    session: LockedSession, grant: Grant, *, by: AbstractBaseUser, why: GrantEnd
) -> bool:
    """End a grant because a person takes it back. False if it was taken or has ended already."""
    if not _end(grant, GrantState.WITHDRAWN, why, by.pk):
        return False
    text = _("{name} took back the approval of {action}. It was not used.")
    actor, name = actors.human(by), by.get_username()
    _report(session, grant, text.format(action=_named(grant), name=name), actor)
    _record("grant_withdrawn", session, grant, actor)
    return True


def lapse_grants(
    session: LockedSession, grants: Iterable[Grant], why: GrantEnd, *, actor: str = "system"
) -> int:
    """End several grants of a locked session that were not used. Return how many."""
    return sum(lapse_grant(session, grant, why, actor=actor) for grant in list(grants))


def lapse_grants_of_agent(agent_id: int, why: GrantEnd, *, actor: str) -> int:
    """End all unused grants of an agent. The caller holds the lock of the agent's row."""
    live = Grant.objects.filter(session__agent=agent_id, state=GrantState.MINTED)
    sessions = lock_sessions(live.values_list("session", flat=True))
    return sum(
        lapse_grants(session, live_grants_of(session), why, actor=actor)
        for session in sessions.values()
    )


def mark_used(session: LockedSession, grant: Grant) -> None:
    """Move a taken grant to its end: how its action ended has just been stored."""
    if statements.query(_USE, grant.pk):
        _record("grant_used", session, grant, actors.agent(session.agent))


def hand_over(session: LockedSession, grant: Grant, run: Run) -> None:
    """Use a grant by the turn that handed its approval to an agent elsewhere.

    What that agent did with it is not known here.
    """
    if not statements.query(_TAKE, run.pk, grant.pk):
        return
    taken = statements.insert(Redemption(grant=grant, run=run, epoch=run.epoch))
    statements.insert(Effect(redemption=taken, end=EffectEnd.HANDED, detail=""))
    mark_used(session, grant)


def _end(grant: Grant, state: GrantState, why: GrantEnd, person_id: int | None) -> bool:
    if not statements.query(_END, state.value, why.value, person_id, grant.pk):
        return False
    grant.state, grant.end, grant.ended_by_id = state, why, person_id
    return True


def _named(grant: Grant) -> str:
    if grant.ask is not None and grant.ask.confidential:
        return _("a confidential action")
    return f"`{name_action(grant.operation, grant.params)}`"


def _report(session: LockedSession, grant: Grant, text: str, actor: str) -> None:
    """Record the end in the thread, and add it to the verdict that is still owed to the agent."""
    about = {"ask_id": grant.ask_id} if grant.ask_id else {"allowed": grant.action_hash}
    ended = {"state": grant.state, "why": grant.end, "text": GrantEnd(grant.end).label}
    inbox.amend_owed_verdict(session, about, {"ended": {**ended, "text": str(ended["text"])}})
    record_event(
        session,
        "grant_ended",
        actor=actor,
        run=grant.run,
        text=text,
        data={"grant": grant.pk, "ask_id": grant.ask_id, "state": grant.state, "why": grant.end},
    )


def _record(kind: str, session: Session, grant: Grant, actor: str) -> None:
    names: dict[str, str | None] = {"agent": session.agent.slug}
    chain.append_row(kind, grant.pk, names=names, session=session, actor=actor)
