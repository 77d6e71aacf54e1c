"""Check whether a grant is still good, against what is true now and not when it was minted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from agents.db import statements
from agents.lifecycle import RunStatus, SessionState
from agents.models import Agent
from asks import access
from asks.actions import binding, bound_files
from asks.ledger import credential
from asks.lifecycle import Meaning
from asks.models import Ask, Grant, GrantEnd, Verdict, Vote
from asks.policies import terms, versions

#: The turns that a grant may live in.
_UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)
#: Keep the rows that give somebody the right to approve, until the transaction ends.
_HOLD = (
    "SELECT 1 FROM agents_agent_owners WHERE agent_id = %s ORDER BY id FOR SHARE",
    "SELECT 1 FROM auth_user WHERE id = ANY(%s) ORDER BY id FOR SHARE",
    "SELECT 1 FROM auth_user_groups WHERE user_id = ANY(%s) ORDER BY id FOR SHARE",
    "SELECT 1 FROM asks_delegation WHERE delegate_id = ANY(%s) ORDER BY id FOR SHARE",
)


def find_end(grant: Grant, *, at: datetime, hold: bool = False) -> GrantEnd | None:
    """Return why a grant is over, or None if it is good.

    With ``hold``, wait for whoever is changing the people's rights or the keys, and keep both as they
    are until the transaction ends. The caller holds the session's lock and the agent's.
    """
    session = grant.session
    if session.state == SessionState.ENDED:
        return GrantEnd.ENDED
    if grant.run is not None and grant.run.status not in _UNDER_WAY:
        return GrantEnd.TURN_OVER
    if grant.expires_at is None or grant.expires_at <= at:
        return GrantEnd.EXPIRED
    if versions.version_in_force(session.agent_id) != grant.policy_version:
        return GrantEnd.POLICY
    if grant.credentials and not credential.hold_credentials(grant.credentials):
        return GrantEnd.KEY
    return _end_of_rights(grant.ask, hold=hold) if grant.ask is not None else None


def have_files_changed(agent: Agent, grant: Grant) -> bool:
    """Whether a file that a grant covers has other content than what was approved."""
    return bool(grant.files) and bound_files.rehash_files(agent, grant.files) != grant.files


def covers_call(grant: Grant, operation: str, params: object) -> bool:
    """Whether a grant is for exactly this operation and these params."""
    try:
        digest = binding.action_hash(operation, params, grant.files)
    except binding.Unhashable:
        return False
    return operation == grant.operation and digest == grant.action_hash


def _end_of_rights(ask: Ask, *, hold: bool) -> GrantEnd | None:
    approvals = list(_approvals_of(ask))
    people = sorted({one for verdict in approvals for one in (verdict.person.pk, verdict.name)})
    if hold:
        _hold_rights(ask.agent_id, people)
    lost = [one for one in approvals if one.name not in access.rights_of(one.person, ask).names]
    needed = terms.terms_of(ask).quorum.approvals if len(approvals) > 1 else 1
    if len(approvals) - len(lost) >= needed:
        return None
    by_delegation = any(one.person.pk != one.name and one.person.is_active for one in lost)
    return GrantEnd.DELEGATION if by_delegation else GrantEnd.PERSON


def _hold_rights(agent_id: int, people: Sequence[int]) -> None:
    owners, *of_people = _HOLD
    statements.query(owners, agent_id)
    for statement in of_people:
        statements.query(statement, list(people))


class _Approval:
    """A person who approved, and the id of the person in whose name they did."""

    def __init__(self, decided: Verdict | Vote) -> None:
        if isinstance(decided, Vote):
            self.person, self.name = decided.voter, decided.principal_id
        else:
            self.person = decided.decided_by
            self.name = decided.on_behalf_of_id or decided.decided_by_id


def _approvals_of(ask: Ask) -> Iterator[_Approval]:
    """Yield the approvals of an ask: its verdict's, or those of everybody who voted for it."""
    verdict = Verdict.objects.select_related("decided_by").filter(pk=ask.verdict_id or 0).first()
    if verdict is None:
        return
    if not terms.terms_of(ask).many_decide:
        yield _Approval(verdict)
        return
    votes = Vote.objects.filter(ask=ask, option=verdict.option_id, meaning=Meaning.APPROVE)
    for vote in votes.select_related("voter").order_by("pk"):
        yield _Approval(vote)
