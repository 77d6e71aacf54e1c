"""The record of a key that tried to answer and may not."""

from __future__ import annotations

from django.db import transaction

from agents import actors
from asks.ledger import chain
from asks.lifecycle import Reason
from asks.models import Ask, Refusal
from workspace.accounts.throttling import Tries
from workspace.models import ApiKey

AGENTS_NEVER = (
    "This key belongs to an agent, and agents never answer. "
    "The attempt was recorded; nothing was approved."
)


#: So many attempts of a key within a minute are kept; after that it has to wait.
TRIES = Tries(20, 60.0)


def record_attempt(key: ApiKey, ask_id: int, why: str) -> float:
    """Keep the attempt like any refusal; an agent's as the attempted self-approval that it is.

    0, or how many seconds a key that tries again and again has to wait: then nothing is kept.
    """
    wait = TRIES.wait(key.pk)
    if not wait:
        _keep(key, ask_id, why)
    return wait


@transaction.atomic
def _keep(key: ApiKey, ask_id: int, why: str) -> None:
    ask = Ask.objects.filter(pk=ask_id).first()
    detail = f"{AGENTS_NEVER} Attempted self-approval." if key.is_an_agents else why
    refusal = Refusal.objects.create(
        ask=ask,
        ask_ref=str(ask_id)[:64],
        by=key.person,
        reason=Reason.NOT_ALLOWED,
        detail=f"Key “{key.name}”: {detail}"[:1000],
        via="api",
    )
    chain.append_refusal(refusal, actor=actor_of(key))


def actor_of(key: ApiKey) -> str:
    """Who a key acts as, in the words of the event log."""
    if key.person is not None:
        return actors.human(key.person)
    return actors.agent(key.agent) if key.agent else "unknown"
