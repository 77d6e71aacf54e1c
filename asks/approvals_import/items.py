"""The items of an approvals file, with their original wording."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BY = re.compile(r"\bby\s+@?([\w.'-]+(?: [A-Z][\w.'-]*)*)")


@dataclass(frozen=True)
class ApprovalItem:
    """One approval in a file. ``decision`` quotes the file; it is empty while the item is open.

    ``note`` warns about a mark or a state that was not understood.
    """

    line: int
    text: str
    under: str = ""
    details: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    decision: str = ""
    by: str = ""
    note: str = ""


@dataclass
class Contents:
    """The items of a file in order, and the parts that were left out as (line, reason)."""

    items: list[ApprovalItem] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


def parse_person(decision: str) -> str:
    """Return “Mia Wong” for “approved by Mia Wong on 3 May”; empty if no person is named."""
    match = _BY.search(decision)
    return match.group(1).rstrip(".") if match else ""


def options_in(text: str) -> tuple[str, ...]:
    """Split ``yes | no | later`` into options. Return none unless there are at least two."""
    offered = tuple(dict.fromkeys(part.strip() for part in text.split("|") if part.strip()))
    return offered if len(offered) > 1 else ()
