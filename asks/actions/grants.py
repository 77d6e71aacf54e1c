"""Grants: each is the right to perform one approved action once. Take the grant before acting.

A grant is a state machine (``asks.models.grant``): minted, then taken and used, or lapsed, or
withdrawn. ``begin_effect`` records that the grant is taken, and commits, before the action starts.
``finish_effect`` records the result. An effect that a finished run began and never ended may or may
not have happened. It is never repeated automatically; a person is asked
(``asks.actions.interrupted``).

Whoever takes a grant checks it in the same transaction against what is true now: the turn and its
claim, the policy, the people who approved, their keys, the time, and the files. An action that differs
from the approved one has no grant. docs/policies.md lists what ends one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import JSONField, Value
from django.utils.translation import gettext as _

from agents import actors, claims
from agents.db import statements
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import LockedSession, lock_session, share_lock_agent
from agents.models import Run, Session
from agents.running.runtime import Fence
from agents.text.canonical_json import Json
from agents.text.storable import make_storable
from asks.actions import binding, grant_checks, grant_ends
from asks.actions.binding import BoundAction
from asks.drafts import ActionDraft, AskDraft
from asks.ledger import credential
from asks.lifecycle import Meaning
from asks.models import Ask, Effect, EffectEnd, Gate, Grant, GrantEnd, GrantState, Redemption, Vote
from asks.policies import versions

#: How long an approval may wait for the turn that it is for.
LIFETIME = timedelta(days=7)
#: Take a grant if nothing has ended it. Everything that changes while a turn runs is looked at here.
_TAKE = """
UPDATE asks_grant g SET state = 'taken', run_id = coalesce(%s::bigint, g.run_id)
FROM agents_session s WHERE g.id = %s AND g.state = 'minted' AND g.expires_at > clock_timestamp()
AND s.id = g.session_id AND s.state <> 'ended'
AND g.policy_version = (
  SELECT coalesce(max(p.version), 0) FROM asks_policy p WHERE p.agent_id = s.agent_id)
AND (%s::bigint IS NULL OR (coalesce(g.run_id, %s::bigint) = %s::bigint AND EXISTS (
  SELECT FROM agents_run r WHERE r.id = %s::bigint AND r.epoch = %s AND r.status = 'running')))
RETURNING g.id
"""


@dataclass(frozen=True)
class Begun:
    """An allowed action in progress."""

    redemption_id: int
    grant: Grant


def mint_grant(
    session: LockedSession, ask: Ask, gate: Gate, edit: dict[str, Json] | None = None
) -> None:
    """Create the grant of an approval, in its transaction; with ``edit``, for the edited call.

    It is for the next turn, which carries the verdict, and ends with that turn.
    """
    grant = Grant(
        session=session,
        ask=ask,
        request_key=ask.request_key,
        operation=gate.operation,
        params=_json(edit["edited"] if edit else gate.params),
        files=gate.files,
        action_hash=edit["action_hash"] if edit else gate.action_hash,
        policy_version=gate.policy_version,
        credentials=_credentials_for(ask),
        expires_at=session.locked_at + LIFETIME,
    )
    statements.insert(grant)


def _credentials_for(ask: Ask) -> list[str]:
    """Return the API keys with which an ask was approved, by this request and by earlier votes."""
    votes = Vote.objects.filter(ask=ask, meaning=Meaning.APPROVE).exclude(credential="")
    used = {*votes.values_list("credential", flat=True), credential.current_credential()}
    return sorted(used - {""})


def grant_by_policy(
    session: LockedSession, request_key: str, action: BoundAction, *, version: int
) -> Grant:
    """Grant an action that the policy allows without asking anybody."""
    return statements.insert(
        Grant(
            session=session,
            request_key=request_key,
            operation=action.operation,
            params=_json(action.params),
            files=action.files,
            action_hash=action.digest,
            policy_version=version,
            expires_at=session.locked_at + LIFETIME,
        )
    )


@transaction.atomic(durable=True)
def begin_effect(
    *,
    session_id: int,
    operation: str,
    params: Json,
    fence: Fence | None = None,
    quiet: bool = False,
) -> Begun | None:
    """Take a grant, and commit that its action starts now. Return None if it must not start.

    With a ``fence``, the claim must still hold. A refusal is shown in the thread, unless ``quiet``:
    use that if a person is asked immediately instead.
    """
    share_lock_agent(_agent_of(session_id))
    session = lock_session(session_id)
    run = claims.held_run(fence) if fence else None
    if fence is not None and (run is None or run.session_id != session_id):
        return None
    grant = _take_approved(session, run, fence, operation, params) or _take_allowed(
        session, fence, operation, params
    )
    if grant is None:
        if not quiet:
            _say_refused(session, run, operation)
        return None
    redemption = statements.insert(
        Redemption(grant=grant, run=run, epoch=fence.epoch if fence else 0)
    )
    return Begun(redemption.pk, grant)


def _agent_of(session_id: int) -> int:
    """Return the agent of a session: its row is locked first, so that no policy changes meanwhile."""
    agents = _AGENT.rows(session_id)
    if not agents:
        raise Session.DoesNotExist(f"There is no session {session_id}.")
    return int(agents[0][0])


@transaction.atomic(savepoint=False)
def finish_effect(begun: Begun, *, happened: bool, detail: str = "") -> bool:
    """Record the result of an effect. Return False if a person has been asked about it meanwhile.

    This joins the caller's transaction, so that other consequences are stored with the result.
    """
    redemption = _TAKEN.all(begun.redemption_id)[0]
    session = lock_session(redemption.grant.session_id)
    if _EFFECT.rows(redemption.pk):
        return False
    end = EffectEnd.DONE if happened else EffectEnd.FAILED
    text = str(make_storable(detail))[:2000]
    statements.insert(Effect(redemption=redemption, end=end, detail=text))
    grant_ends.mark_used(session, redemption.grant)
    record_event(
        session,
        "effect",
        actor=actors.agent(session.agent),
        run=redemption.run,
        text=f"{redemption.grant.operation}: {end.label.lower()}.",
        data={"operation": redemption.grant.operation, "end": end.value, "detail": text},
    )
    return True


def _take_approved(
    session: LockedSession, run: Run | None, fence: Fence | None, operation: str, params: Json
) -> Grant | None:
    """Take the oldest good grant for exactly this action. Those that are found to be over lapse."""
    for grant in _LIVE.all(session.pk, operation):
        grant.session = session
        elsewhere = run is not None and grant.run_id not in (None, run.pk)
        if elsewhere or not grant_checks.covers_call(grant, operation, params):
            continue
        over = grant_checks.find_end(grant, at=session.locked_at, hold=True)
        if over is None and grant_checks.have_files_changed(session.agent, grant):
            over = GrantEnd.FILES
        if over is not None:
            grant_ends.lapse_grant(session, grant, over)
        elif _take(grant, fence):
            return grant
    return None


def _take(grant: Grant, fence: Fence | None) -> bool:
    run_id, epoch = (fence.run_id, fence.epoch) if fence else (None, None)
    taken = statements.query(_TAKE, run_id, grant.pk, run_id, run_id, run_id, run_id, epoch)
    if taken:
        grant.state, grant.run_id = GrantState.TAKEN, run_id or grant.run_id
    return bool(taken)


_AGENT = Prepared(lambda pk: Session.objects.filter(pk=pk).values_list("agent_id"))
_LIVE = Prepared(
    lambda session, operation: (
        Grant.objects.filter(session=session, operation=operation, state=GrantState.MINTED)
        .select_related("ask", "run")
        .order_by("pk")
    ),
    of=(int, str),
)
_TAKEN = Prepared(lambda pk: Redemption.objects.select_related("grant", "run").filter(pk=pk))
_EFFECT = Prepared(lambda pk: Effect.objects.filter(redemption=pk).values_list("pk"))


def _take_allowed(
    session: LockedSession, fence: Fence | None, operation: str, params: Json
) -> Grant | None:
    """Grant and take an action that the present policy allows. It needs no prior approval."""
    action = ActionDraft(operation, params)
    try:
        binding.action_hash(operation, params)
    except binding.Unhashable:
        return None
    ruling = versions.ruling_for(session, AskDraft(request_key="", prompt=operation, action=action))
    if ruling.asks:
        return None
    bound = binding.bind_action(session.agent, action, ruling)
    grant = grant_by_policy(session, "", bound, version=ruling.version)
    return grant if _take(grant, fence) else None


def _say_refused(session: LockedSession, run: Run | None, operation: str) -> None:
    record_event(
        session,
        "ignored",
        actor="system",
        run=run,
        text=str(make_storable(operation))[:200],
        data={"why": _("no unused approval covers exactly this action; it was not performed")},
    )


def _json(params: Json) -> Json:
    """Return params ready for a JSONField. Django would store None as SQL NULL, not as JSON null."""
    return Value(None, JSONField()) if params is None else params
