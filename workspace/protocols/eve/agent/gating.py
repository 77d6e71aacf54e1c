"""Whether a proposed call waits for a person: as its tool says, and the agent's policy may ask more."""

from __future__ import annotations

from agents.models import Session
from agents.text.canonical_json import Json
from asks.drafts import ActionDraft, AskDraft
from asks.lifecycle import Meaning
from asks.models import Ask, Verdict
from asks.policies import versions


def approved_tools(session_id: int) -> frozenset[str]:
    """The tools that a person has approved in a session, by an answer that says so."""
    approving = Verdict.objects.filter(
        ask__session=session_id, ask__context__has_key="eve", meaning=Meaning.APPROVE
    )
    return frozenset(approving.values_list("ask__gate__operation", flat=True))


def policy_asks(session_id: int, operation: str, params: Json) -> bool:
    """Whether a rule of the policy in force wants a person for this call. No rule wants nobody."""
    session = Session.objects.get(pk=session_id)
    draft = AskDraft(request_key="", prompt=operation, action=ActionDraft(operation, params))
    ruling = versions.ruling_for(session, draft)
    return ruling.rule is not None and ruling.asks


def is_taken(session_id: int, request_key: str) -> bool:
    """Whether a session has been asked something under this name before."""
    return Ask.objects.filter(session=session_id, request_key=request_key).exists()
