"""Read approvals from a table with a column for the question and one for its state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from asks.approvals_import.items import ApprovalItem, Contents, options_in, parse_person

QUESTION = ("question", "request", "approval", "item", "ask", "what", "action", "task", "change")
STATUS = (
    "status",
    "state",
    "decision",
    "verdict",
    "answer",
    "result",
    "outcome",
    "approved",
    "done",
    "ok",
)
BY = ("by", "approved by", "decided by", "signed off by", "approver", "reviewer", "who", "owner")
OPTIONS = ("options", "choices")
#: Columns in which any text is a decision.
DECIDES = frozenset({"decision", "verdict", "answer", "result", "outcome"})

#: An empty cell in the status column also means open.
_OPEN = "|open|pending|waiting|todo|to do|tbd|new|requested|in review|no answer|[ ]|?|-|\u2013|\u2014|⏳"
OPEN = frozenset(_OPEN.split("|"))
_APPROVED = "approved|accepted|granted|yes|y|ok|done|signed|signed off|go|x|[x]|✅|✔|✔\ufe0f|✓|☑"
_DENIED = "denied|rejected|declined|refused|no go|❌|✗|✘"
_DROPPED = "cancelled|canceled|withdrawn|dropped|obsolete|n/a"
DECIDED = frozenset(f"{_APPROVED}|{_DENIED}|{_DROPPED}".split("|"))


@dataclass(frozen=True)
class Columns:
    """The index of each column; None if the table lacks it."""

    question: int
    status: int | None
    by: int | None
    options: int | None
    status_name: str


def read_table(tokens: Sequence[Token], under: str, contents: Contents) -> None:
    """Add the rows of a table to ``contents``, or the reason why the table is left out."""
    rows = _rows(tokens)
    columns = _columns(rows[0][1]) if rows else None
    if columns is None:
        line = rows[0][0] if rows else 0
        why = "the table needs a column for the question and one for its state"
        contents.left_out.append((line, why))
        return
    names = rows[0][1]
    for line, cells in rows[1:]:
        if cells[columns.question].strip():
            contents.items.append(_item(line, cells, names, columns, under))


def _rows(tokens: Sequence[Token]) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of each row. The first row is the header."""
    rows: list[tuple[int, list[str]]] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append(((token.map or [0])[0] + 1, []))
        elif token.type in ("th_open", "td_open"):
            rows[-1][1].append(tokens[place + 1].content)
    return rows


def _columns(head: Sequence[str]) -> Columns | None:
    names = [re.sub(r"[^a-z ]", "", name.lower()).strip() for name in head]
    question, status, by = (_first(names, known) for known in (QUESTION, STATUS, BY))
    if question is None or (status is None and by is None):
        return None
    status_name = names[status] if status is not None else ""
    return Columns(question, status, by, _first(names, OPTIONS), status_name)


def _first(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def _item(
    line: int, cells: Sequence[str], names: Sequence[str], columns: Columns, under: str
) -> ApprovalItem:
    by = _cell(cells, columns.by)
    decision, note = _decision(_cell(cells, columns.status), by, columns)
    used = {columns.question, columns.status, columns.by, columns.options}
    details = [
        f"{name}: {cell}"
        for place, (name, cell) in enumerate(zip(names, cells, strict=False))
        if place not in used and cell.strip()
    ]
    return ApprovalItem(
        line=line,
        text=cells[columns.question].strip(),
        under=under,
        details=tuple(details),
        options=options_in(_cell(cells, columns.options)),
        decision=decision,
        by=(by or parse_person(decision)) if decision else "",
        note=note,
    )


def _cell(cells: Sequence[str], place: int | None) -> str:
    return cells[place].strip() if place is not None and place < len(cells) else ""


def _decision(status: str, by: str, columns: Columns) -> tuple[str, str]:
    """Return the decision that the file states, and a note if the state is unknown."""
    word = status.lower().strip(" *_~.`")
    if columns.status is None:
        return (f"decided by {by}" if by else ""), ""
    if word in OPEN:
        return "", ""
    if word in DECIDED or columns.status_name in DECIDES or word.split(" ")[0] in DECIDED:
        return status, ""
    return "", f"unknown state “{status}”, treated as open"
