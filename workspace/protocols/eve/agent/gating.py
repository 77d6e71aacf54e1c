"""Queries that decide whether a proposed call needs approval: its tool's rule, then the policy."""

from __future__ import annotations

from agents.models import Session
from agents.text.canonical_json import Json
from asks.drafts import ActionDraft, AskDraft
from asks.lifecycle import Meaning
from asks.models import Ask, GrantState, Verdict
from asks.policies import versions


def approved_tools(session_id: int) -> frozenset[str]:
    """Return the names of the tools that a person has explicitly approved in a session.

    An approval that ended before it was used does not count.
    """
    approving = Verdict.objects.filter(
        ask__session=session_id, ask__context__has_key="eve", meaning=Meaning.APPROVE
    )
    good = approving.exclude(ask__grant__state__in=(GrantState.LAPSED, GrantState.WITHDRAWN))
    return frozenset(good.values_list("ask__gate__operation", flat=True))


def policy_asks(session_id: int, operation: str, params: Json) -> bool:
    """Return whether a rule of the policy in force requires approval; without a rule, it does not."""
    session = Session.objects.get(pk=session_id)
    draft = AskDraft(request_key="", prompt=operation, action=ActionDraft(operation, params))
    ruling = versions.ruling_for(session, draft)
    return ruling.rule is not None and ruling.asks


def is_taken(session_id: int, request_key: str) -> bool:
    """Return whether the session already has an ask with this request key."""
    return Ask.objects.filter(session=session_id, request_key=request_key).exists()
