"""Record the attempt of a key to answer an ask that it may not answer."""

from __future__ import annotations

from django.db import transaction

from agents import actors
from asks.ledger import chain
from asks.lifecycle import Reason
from asks.models import Ask, Refusal
from workspace.accounts import throttling
from workspace.models import ApiKey

AGENTS_NEVER = (
    "This key belongs to an agent, and agents never answer. "
    "The attempt was recorded; nothing was approved."
)


@transaction.atomic
def record_attempt(key: ApiKey, ask_id: int, why: str) -> float:
    """Record the attempt like any refusal; an agent's is recorded as an attempted self-approval.

    Return 0, or the seconds that the key has to wait after too many attempts. In that case nothing
    is recorded.
    """
    wait = throttling.seconds_to_wait(key)
    if not wait:
        _record(key, ask_id, why)
    return wait


def _record(key: ApiKey, ask_id: int, why: str) -> None:
    ask = Ask.objects.filter(pk=ask_id).first()
    detail = f"{AGENTS_NEVER} Attempted self-approval." if key.is_an_agents else why
    refusal = Refusal.objects.create(
        ask=ask,
        ask_ref=str(ask_id)[:64],
        by=key.person,
        reason=Reason.NOT_ALLOWED,
        detail=f"{throttling.refusal_prefix(key)}{detail}"[:1000],
        via="api",
    )
    chain.append_refusal(refusal, actor=actor_of(key))


def actor_of(key: ApiKey) -> str:
    """Return the actor of a key, as the event log names it."""
    if key.person is not None:
        return actors.human(key.person)
    return actors.agent(key.agent) if key.agent else "unknown"
