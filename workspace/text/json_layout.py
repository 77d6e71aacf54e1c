"""Lay out a JSON text without reading it: only white space outside of its strings changes.

So nothing is lost that a parser would lose: names that appear twice, the digits of a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.text import json_input

MAX_LAID_OUT = 20_000
"""Characters. A longer text stays as it is."""

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT = "  "


def laid_out(text: str) -> str | None:
    """Return a JSON object or list with a line for each value; None for any other text."""
    if not 2 < len(text) <= MAX_LAID_OUT or text.lstrip()[:1] not in ("{", "["):
        return None
    if not json_input.is_json(text):
        return None
    return "".join(_laid_out(_PART.findall(text)))


def _laid_out(parts: list[str]) -> Iterator[str]:
    depth = 0
    for at, part in enumerate(parts):
        after = parts[at + 1] if at + 1 < len(parts) else ""
        if part in ("}", "]"):
            depth -= 1
            yield part if parts[at - 1] in ("{", "[") else f"\n{_INDENT * depth}{part}"
        elif part in ("{", "["):
            depth += 1
            yield part if after in ("}", "]") else f"{part}\n{_INDENT * depth}"
        elif part == ",":
            yield f",\n{_INDENT * depth}"
        else:
            yield ": " if part == ":" else part
