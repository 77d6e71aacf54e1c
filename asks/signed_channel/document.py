"""Write the exact bytes that a person signs to decide a money-critical ask.

The document is readable and has exactly one spelling. A signed file counts only if it is, byte for
byte, what this module writes now for the same ask and option.
"""

from __future__ import annotations

import json
from typing import Any

from agents.text import json_input
from agents.text.canonical_json import iso_moment
from asks.actions import binding
from asks.models import Ask, Gate, Option

VERSION = 1


def decision_document(ask: Ask, gate: Gate, option: Option) -> bytes:
    """Return the document to sign. It is ASCII, so invisible characters appear as escapes."""
    facts = {
        "needs_you_verdict": VERSION,
        "ask": ask.pk,
        "agent": ask.agent.slug,
        "session": ask.session_id,
        "gate": gate.number,
        "opened_at": iso_moment(ask.opened_at),
        "question": ask.prompt,
        "operation": gate.operation,
        "params": gate.params,
        "binding": binding.shown_binding(gate).as_echo(),
        "option": option.key,
        "option_label": option.label,
        "option_means": option.meaning,
    }
    return (json.dumps(facts, indent=2, sort_keys=True) + "\n").encode()


def claims_in(content: bytes) -> dict[str, Any]:
    """Return the unproven claims in a file; {} if it is not a decision file."""
    try:
        claims = json_input.read_json(content)
    except ValueError:
        return {}
    if not isinstance(claims, dict) or claims.get("needs_you_verdict") != VERSION:
        return {}
    return claims
