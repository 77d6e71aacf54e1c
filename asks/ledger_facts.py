"""What a ledger record says, taken from the rows it is about.

Each function gives the facts that the rows can give again at any time: ``verify`` asks for them a
second time and compares, so that a changed row is found as surely as a changed record.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.core.exceptions import ObjectDoesNotExist

from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Refusal, Verdict
from asks.plain import moment


def of_verdict(verdict: Verdict) -> dict[str, Any]:
    """The question as it was shown, what was chosen, and the binding as shown and as echoed."""
    option = verdict.option
    return {
        "ask": of_ask(verdict.ask),
        "gate": of_gate(verdict.ask),
        "verdict": {
            "id": verdict.pk,
            "by": verdict.decided_by_id,
            "option": option.key if option else None,
            "label": verdict.option_label,
            "text": verdict.text,
            "text_sha256": hashlib.sha256(verdict.text.encode("utf-8", "replace")).hexdigest(),
            "meaning": verdict.meaning,
            "echo": verdict.echo,
            "via": verdict.via,
            "decided_at": moment(verdict.decided_at),
        },
        "closing": _closing(verdict.ask),
    }


def of_refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "refusal": {
            "id": refusal.pk,
            "ask": refusal.ask_id,
            "ask_ref": refusal.ask_ref,
            "by": refusal.by_id,
            "reason": refusal.reason,
            "detail": refusal.detail,
            "submitted": refusal.submitted,
            "via": refusal.via,
            "at": moment(refusal.created_at),
        }
    }


def of_closing(ask: Ask) -> dict[str, Any]:
    """How an ask was closed without an answer."""
    return {
        "ask": of_ask(ask),
        "gate": of_gate(ask),
        "closing": _closing(ask),
    }


def _closing(ask: Ask) -> dict[str, Any]:
    """What expired may be asked again later, so only a superseded ask tells of its successor."""
    superseded = ask.status == AskStatus.SUPERSEDED
    return {
        "status": ask.status,
        "closed_at": moment(ask.closed_at),
        "by": ask.closed_by_id,
        "reason": ask.close_reason,
        "superseded_by": ask.superseded_by_id if superseded else None,
    }


def of_import(ask: Ask) -> dict[str, Any]:
    """What was taken over from a file. The ask itself may be answered later."""
    return {
        "imported": {
            "id": ask.pk,
            "session": ask.session_id,
            "request_key": ask.request_key,
            "prompt": ask.prompt,
            "imported": ask.imported,
        }
    }


def of_ask(ask: Ask) -> dict[str, Any]:
    """The question as it was shown. Nothing in it may change once it is closed."""
    return {
        "id": ask.pk,
        "session": ask.session_id,
        "run": ask.run_id,
        "request_key": ask.request_key,
        "kind": ask.kind,
        "prompt": ask.prompt,
        "free_text": ask.free_text,
        "money_critical": ask.money_critical,
        "imported": ask.imported,
        "context": ask.context,
        "opened_at": moment(ask.opened_at),
        "expires_at": moment(ask.expires_at),
        "options": [
            {
                "id": option.pk,
                "key": option.key,
                "label": option.label,
                "detail": option.detail,
                "style": option.style,
                "meaning": option.meaning,
            }
            for option in sorted(ask.options.all(), key=lambda option: option.position)
        ],
    }


def of_gate(ask: Ask) -> dict[str, Any] | None:
    """The exact action that was asked about, and the binding it was shown with."""
    gate = gate_or_none(ask)
    if gate is None:
        return None
    return {
        "id": gate.pk,
        "number": gate.number,
        "operation": gate.operation,
        "params": gate.params,
        "action_hash": gate.action_hash,
        "policy_version": gate.policy_version,
        "run_version": gate.run_version,
    }


def gate_or_none(ask: Ask) -> Gate | None:
    try:
        return ask.gate
    except ObjectDoesNotExist:
        return None
