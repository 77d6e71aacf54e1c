"""What an outbox item says. Bounded by construction: what is too long is cut, and named in ``cut``.

An item is a nudge with enough to answer from: the question, its options, the exact action and the
binding that an answer must echo. What else the agent showed, and whole conversations, stay inside.
"""

from __future__ import annotations

import json
from typing import Any

from agents.models import Event, Session
from asks.actions import binding
from asks.drafts import request_keys
from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Verdict
from workspace.models import OutboxKind

MAX_PROMPT = 4_000
MAX_TEXT = 2_000
MAX_LABEL = 300
MAX_PARAMS_BYTES = 8 * 1024

Payload = dict[str, Any]


def where(session: Session, event: Event) -> Payload:
    """{"agent", "session", "seq"} of anything. What is about an ask is made whole by ``ask_payload``."""
    return {"agent": session.agent.slug, "session": session.pk, "seq": event.seq}


def session_payload(session: Session, event: Event) -> Payload:
    """{"agent", "session", "seq", "text", "cut"} of something that is about no question."""
    cut = _Cut()
    text = cut("text", event.text, MAX_TEXT)
    return {**where(session, event), "text": text, "cut": cut.names}


def ask_payload(begun: Payload, kind: str, ask: Ask) -> Payload:
    """What was begun by ``where``, with "ask", "verdict"?, "reason"? and "cut".

    Made later than it happened, yet the same as then: nothing of this ever changes, and what came
    to be only afterwards is left out by kind.
    """
    cut = _Cut()
    payload = {**begun, "ask": {**_ask(ask, cut), "status": _STATUS[kind]}}
    verdict = getattr(ask, "verdict", None)
    if ask.confidential:
        pass  # who answers it reads the rest here
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
    """What is asked. Of a confidential ask nothing but that it waits, and where."""
    if ask.confidential:
        return {"id": ask.pk, "path": f"/asks/{ask.pk}/", "confidential": True}
    gate = getattr(ask, "gate", None)
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
                "style": option.style,
                "meaning": option.meaning,
            }
            for option in ask.options.all()
        ],
        "gated": ask.money_critical,
        "action": _action(gate, cut) if gate else None,
        "binding": binding.shown_binding(gate).as_echo() if gate else None,
        "expires_at": ask.expires_at.isoformat() if ask.expires_at else None,
        # A fresh ask in place of an older one, which names it in an ask.superseded of its own.
        "again": request_keys.is_repeated(ask.request_key),
    }


def _action(gate: Gate, cut: _Cut) -> Payload:
    params = binding.restore_params(gate.params)
    if len(json.dumps(params)) > MAX_PARAMS_BYTES:
        cut.names.append("action.params")
        params = None
    return {"operation": gate.operation, "params": params, "gate": gate.number}


def _edited(verdict: Verdict, cut: _Cut) -> Payload:
    """The params that were approved instead of those asked about, where they were changed."""
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
