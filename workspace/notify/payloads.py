"""The payloads of outbox items. Their size is bounded: long texts are cut and named in ``cut``.

An item contains what an answer needs: the question, its options, the exact action and the binding
that the answer must echo. Everything else that the agent showed, and conversations, stay inside.
"""

from __future__ import annotations

import json
from typing import Any

from agents.models import Event, Session
from asks.actions import binding, editing
from asks.drafts import request_keys
from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Verdict
from asks.policies import terms
from workspace.models import OutboxKind

MAX_PROMPT = 4_000
MAX_TEXT = 2_000
MAX_LABEL = 300
MAX_PARAMS_BYTES = 8 * 1024

Payload = dict[str, Any]


def where(session: Session, event: Event) -> Payload:
    """Return {"agent", "session", "seq"}. ``ask_payload`` completes it for an ask."""
    return {"agent": session.agent.slug, "session": session.pk, "seq": event.seq}


def session_payload(session: Session, event: Event) -> Payload:
    """Return {"agent", "session", "seq", "text", "cut"} of an event without a question."""
    cut = _Cut()
    text = cut("text", event.text, MAX_TEXT)
    return {**where(session, event), "text": text, "cut": cut.names}


def ask_payload(begun: Payload, kind: str, ask: Ask) -> Payload:
    """Complete the payload of ``where`` with "ask", "verdict"?, "reason"? and "cut".

    This happens after the event, but gives the same result as at the time of the event: none of these
    values ever change, and each kind leaves out what came later.
    """
    cut = _Cut()
    payload = {**begun, "ask": {**_ask(ask, cut), "status": _STATUS[kind]}}
    verdict = getattr(ask, "verdict", None)
    if ask.confidential:
        pass  # the rest is only for the people who answer it, in the workspace
    elif kind == OutboxKind.ASK_ANSWERED and verdict is not None:
        payload["verdict"] = _verdict(verdict, cut)
    elif kind not in (OutboxKind.ASK_OPENED, OutboxKind.ASK_ANSWERED, OutboxKind.ASK_REMINDED):
        payload["reason"] = cut("reason", ask.close_reason, MAX_TEXT)
    if kind == OutboxKind.ASK_SUPERSEDED:
        payload["ask"]["replaced_by"] = ask.superseded_by_id
    return {**payload, "cut": cut.names}


_STATUS: dict[str, str] = {
    OutboxKind.ASK_OPENED: AskStatus.OPEN.value,
    OutboxKind.ASK_ANSWERED: AskStatus.ANSWERED.value,
    OutboxKind.ASK_WITHDRAWN: AskStatus.WITHDRAWN.value,
    OutboxKind.ASK_EXPIRED: AskStatus.EXPIRED.value,
    OutboxKind.ASK_SUPERSEDED: AskStatus.SUPERSEDED.value,
    OutboxKind.ASK_REMINDED: AskStatus.OPEN.value,
}


def _ask(ask: Ask, cut: _Cut) -> Payload:
    """Return the question. Of a confidential ask, only that it waits and where."""
    if ask.confidential:
        return {"id": ask.pk, "path": f"/asks/{ask.pk}/", "confidential": True}
    gate, kept = getattr(ask, "gate", None), terms.terms_of(ask)
    return {
        "id": ask.pk,
        "path": f"/asks/{ask.pk}/",
        "kind": ask.kind,
        "prompt": cut("prompt", ask.prompt, MAX_PROMPT),
        "free_text": ask.free_text,
        "options": [
            {
                "key": option.key,
                "label": cut("options", option.label, MAX_LABEL),
                "style": terms.style_of(option, kept),
                "meaning": option.meaning,
            }
            for option in ask.options.all()
        ],
        "gated": ask.money_critical,
        "action": _action(gate, cut) if gate else None,
        "binding": binding.shown_binding(gate).as_echo() if gate else None,
        "expires_at": ask.expires_at.isoformat() if ask.expires_at else None,
        # This ask replaces an older one, whose ask.superseded names this one.
        "again": request_keys.is_repeated(ask.request_key),
    }


def _action(gate: Gate, cut: _Cut) -> Payload:
    params = editing.asked_params(gate)
    if len(json.dumps(params)) > MAX_PARAMS_BYTES:
        cut.names.append("action.params")
        params = None
    return {"operation": gate.operation, "params": params, "gate": gate.number}


def _edited(verdict: Verdict, cut: _Cut) -> Payload:
    """Return the approved params if a person edited them."""
    if not verdict.edit:
        return {}
    edited = verdict.edit["edited"]
    if len(json.dumps(edited)) > MAX_PARAMS_BYTES:
        cut.names.append("verdict.edited")
        edited = None
    return {"edited": edited}


def _verdict(verdict: Verdict, cut: _Cut) -> Payload:
    return {
        **_edited(verdict, cut),
        "option": verdict.option.key if verdict.option else None,
        "label": cut("verdict.label", verdict.option_label, MAX_LABEL),
        "text": cut("verdict.text", verdict.text, MAX_TEXT),
        "meaning": verdict.meaning,
        "by": verdict.decided_by.get_username(),
        "via": verdict.via,
    }


class _Cut:
    """Cuts texts and remembers the names of those that were longer."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str, text: str, limit: int) -> str:
        if len(text) > limit and name not in self.names:
            self.names.append(name)
        return text[:limit]
