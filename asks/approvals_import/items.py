"""What an approvals file holds: its items, in its own words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BY = re.compile(r"\bby\s+@?([\w.'-]+(?: [A-Z][\w.'-]*)*)")


@dataclass(frozen=True)
class ApprovalItem:
    """One approval of a file. ``decision`` says in the file's words what came of it; empty: open."""

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
    """The items of a file, in its order, and what was left out: (line, why)."""

    items: list[ApprovalItem] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


def parse_person(said: str) -> str:
    """Who decided, if words such as “approved by Mia Wong on 3 May” say so."""
    found = _BY.search(said)
    return found.group(1).rstrip(".") if found else ""


def options_in(text: str) -> tuple[str, ...]:
    """``yes | no | later`` as options; one alone is none."""
    offered = tuple(dict.fromkeys(part.strip() for part in text.split("|") if part.strip()))
    return offered if len(offered) > 1 else ()
