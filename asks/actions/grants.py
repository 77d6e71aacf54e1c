"""Grants: each is the right to perform one approved action once. Take the grant before acting.

``begin_effect`` records that the grant is taken, and commits, before the action starts.
``finish_effect`` records the result. An effect that a finished run began and never ended may or may
not have happened. It is never repeated automatically; a person is asked
(``asks.actions.interrupted``).

The digest is computed here from the action about to be performed, and its files are read again. An
action that differs from the approved one has no grant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.models import JSONField, Value
from django.utils.translation import gettext as _

from agents import actors, claims
from agents.db import statements
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.locking import LockedSession, lock_session
from agents.models import Run, Session
from agents.running.runtime import Fence
from agents.text.canonical_json import Json
from agents.text.storable import make_storable
from asks.actions import binding, bound_files
from asks.actions.binding import BoundAction
from asks.drafts import ActionDraft, AskDraft
from asks.models import Ask, Effect, EffectEnd, Gate, Grant, Redemption
from asks.policies import versions


@dataclass(frozen=True)
class Begun:
    """An allowed action in progress."""

    redemption_id: int
    grant: Grant


def mint_grant(session: Session, ask: Ask, gate: Gate, edit: dict[str, Json] | None = None) -> None:
    """Create the grant of an approval, in its transaction; with ``edit``, for the edited call."""
    grant = Grant(
        session=session,
        ask=ask,
        request_key=ask.request_key,
        operation=gate.operation,
        params=_json(edit["edited"] if edit else gate.params),
        files=gate.files,
        action_hash=edit["action_hash"] if edit else gate.action_hash,
        policy_version=gate.policy_version,
    )
    statements.insert(grant)


def grant_by_policy(
    session: Session, request_key: str, action: BoundAction, *, version: int
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
        )
    )


def redeem_grant(
    *, session_id: int, operation: str, params: Json, fence: Fence | None = None
) -> Grant | None:
    """Take the grant for exactly this action. Return None if no unused grant covers it.

    Perform the action only after this returns: the redemption is committed by then.
    """
    begun = begin_effect(session_id=session_id, operation=operation, params=params, fence=fence)
    return begun.grant if begun else None


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
    session = lock_session(session_id)
    run = claims.held_run(fence) if fence else None
    if fence is not None and (run is None or run.session_id != session_id):
        return None
    grant = next(_that_allow(session, operation, params), None) or _by_policy_now(
        session, operation, params
    )
    if grant is None:
        if not quiet:
            _say_refused(session, run, operation)
        return None
    taken = statements.insert(Redemption(grant=grant, run=run, epoch=fence.epoch if fence else 0))
    return Begun(taken.pk, grant)


@transaction.atomic(savepoint=False)
def finish_effect(begun: Begun, *, happened: bool, detail: str = "") -> bool:
    """Record the result of an effect. Return False if a person has been asked about it meanwhile.

    This joins the caller's transaction, so that other consequences are stored with the result.
    """
    taken = _TAKEN.all(begun.redemption_id)[0]
    session = lock_session(taken.grant.session_id)
    if _EFFECT.rows(taken.pk):
        return False
    end = EffectEnd.DONE if happened else EffectEnd.FAILED
    text = str(make_storable(detail))[:2000]
    statements.insert(Effect(redemption=taken, end=end, detail=text))
    record_event(
        session,
        "effect",
        actor=actors.agent(session.agent),
        run=taken.run,
        text=f"{taken.grant.operation}: {end.label.lower()}.",
        data={"operation": taken.grant.operation, "end": end.value, "detail": text},
    )
    return True


def _that_allow(session: Session, operation: str, params: Json) -> Iterator[Grant]:
    """Yield the unused grants of a locked session for exactly this action, oldest first."""
    for grant in _UNUSED.all(session.pk, operation):
        files = bound_files.rehash_files(session.agent, grant.files)
        if _digest(operation, params, files) == grant.action_hash:
            yield grant


_UNUSED = Prepared(
    lambda session, operation: Grant.objects.filter(
        session=session, operation=operation, redemption=None
    ).order_by("pk"),
    of=(int, str),
)
_TAKEN = Prepared(lambda pk: Redemption.objects.select_related("grant", "run").filter(pk=pk))
_EFFECT = Prepared(lambda pk: Effect.objects.filter(redemption=pk).values_list("pk"))


def _digest(operation: str, params: Json, files: dict[str, str]) -> str:
    try:
        return binding.action_hash(operation, params, files)
    except binding.Unhashable:
        return ""


def _by_policy_now(session: Session, operation: str, params: Json) -> Grant | None:
    """Grant an action that the present policy allows. It needs no prior approval."""
    if not _digest(operation, params, {}):
        return None
    action = ActionDraft(operation, params)
    draft = AskDraft(request_key="", prompt=operation, action=action)
    ruling = versions.ruling_for(session, draft)
    if ruling.asks:
        return None
    bound = binding.bind_action(session.agent, action, ruling)
    return grant_by_policy(session, "", bound, version=ruling.version)


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
