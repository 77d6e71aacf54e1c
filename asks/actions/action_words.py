"""Name an action in a sentence."""

from __future__ import annotations

import json
import shlex

from agents.text.canonical_json import Json
from agents.text.storable import make_storable

#: Characters of an action's name at most.
LONGEST = 200


def name_action(operation: str, params: Json) -> str:
    """Return a command as it is typed, or an operation with its params as JSON, on one line."""
    words = " ".join(_words(operation, params).split())
    short = words if len(words) <= LONGEST else f"{words[:LONGEST]} …"
    return str(make_storable(short))


def _words(operation: str, params: Json) -> str:
    command = params.get("command") if isinstance(params, dict) else None
    if isinstance(command, str) and command.strip():
        return command
    if isinstance(command, list) and all(isinstance(word, str) for word in command) and command:
        return shlex.join(command)
    if params in (None, {}, []):
        return operation
    return f"{operation} {json.dumps(params, ensure_ascii=False)}"
