"""What a turn is told, as JSON in a file, so that programs need not read the prompt."""

from __future__ import annotations

import json
from typing import Any

from agents.running.runtime import Given, Remembered, Turn

#: Environment variable with the path of the file.
VARIABLE = "NEEDS_YOU_TURN"
VERSION = 1


def turn_as_json(turn: Turn, remembered: Remembered | None) -> str:
    """Return the text of the file. docs/markers.md describes its fields."""
    known = remembered or Remembered()
    told = {
        "v": VERSION,
        "agent": turn.agent.slug,
        "session": turn.session_id,
        "run": turn.number,
        "cause": turn.cause,
        "given": [_given(one) for one in turn.given],
        "decided": list(known.decided),
        "still_open": list(known.still_open),
        "left_out": {"decided": known.decided_left_out, "still_open": known.open_left_out},
        "history": list(turn.history),
    }
    # ASCII, because half a character in somebody's words is not UTF-8.
    return json.dumps(told, indent=1, default=str)


def _given(given: Given) -> dict[str, Any]:
    return {"kind": given.kind, "author": given.author, "body": given.body, "data": given.data}
