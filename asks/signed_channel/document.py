"""The exact bytes a person signs to decide a money-critical ask: readable, and only one way to write it.

A signed file counts only when it is, byte for byte, what this module writes for the same ask and
option now. Nothing else in a file can have any meaning.
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
    """What to sign, as ASCII: a character that cannot be seen stands there as its number."""
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
    """What a file says of itself, before anything is proved: {} when it is no decision file."""
    try:
        said = json_input.read_json(content)
    except ValueError:
        return {}
    if not isinstance(said, dict) or said.get("needs_you_verdict") != VERSION:
        return {}
    return said
