"""Writes what one verb does to a session: row by row, or in one statement with the session's own row.

PostgreSQL answers each statement by itself, and most of what a verb waits for is these ways to and
fro.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db.models import Model

from agents.db import statements
from agents.db.statements import Statement
from agents.models import Event, Run, Session

_TEXTS = ("kind", "actor", "text", "html", "once_key")
#: The most frequent write there is. It goes along with what counts them.
_TOLD = """
told AS (
    INSERT INTO agents_event (session_id, seq, run_id, data, kind, actor, text, html, once_key)
    SELECT %s::bigint, new.*
    FROM unnest(%s::bigint[], %s::bigint[], %s::jsonb[],
                %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) AS new
    RETURNING id, created_at, seq
) SELECT id, created_at FROM told ORDER BY seq
"""


@dataclass
class Unwritten:
    """Events that have a number, new rows that nobody reads yet, and which fields of which run."""

    events: list[Event] = field(default_factory=list)
    rows: list[Statement] = field(default_factory=list)
    moves: dict[Run, list[str]] = field(default_factory=dict)


@contextmanager
def together(session: Session) -> Iterator[None]:
    """Have what a verb does to a locked session written in one statement.

    It is written along with the session's own fields, by ``store``, or at the end.
    """
    session.unwritten = Unwritten()
    yield
    unwritten, session.unwritten = session.unwritten, None
    if unwritten != Unwritten():
        _write(session, unwritten, ["last_seq"])


def put(session: Session, events: Sequence[Event]) -> None:
    """Insert events of a locked session, which has counted them already."""
    if session.unwritten is None:
        _write(session, Unwritten([*events]), ["last_seq"])
    else:
        session.unwritten.events += events


def add(session: Session, row: Model) -> None:
    """Insert a row that nothing in this transaction reads, along with the session's events."""
    statement = statements.insert_of(row) if session.unwritten is not None else None
    if session.unwritten is None or statement is None:
        statements.insert(row)
    else:
        session.unwritten.rows.append(statement)


def move(session: Session, run: Run, names: Sequence[str]) -> None:
    """Write these fields of a run, as they are then. Nothing in this transaction reads them before."""
    if session.unwritten is None:
        statements.update(run, names)
    else:
        before = session.unwritten.moves.pop(run, [])
        session.unwritten.moves[run] = list(dict.fromkeys([*before, *names]))


def write_moves(session: Session) -> None:
    """Write the moves of runs, and all else, now: a run that has ended makes room for the next."""
    if session.unwritten and session.unwritten.moves:
        store(session, ["last_seq"])


def store(session: Session, names: Sequence[str]) -> None:
    """Write these fields of a locked session, ``last_seq`` among them, and all that is unwritten."""
    if session.unwritten is None:
        statements.update(session, names)
        return
    unwritten, session.unwritten = session.unwritten, Unwritten()
    _write(session, unwritten, names)


def _write(session: Session, unwritten: Unwritten, names: Sequence[str]) -> None:
    """One statement for all, in no order: none may rest on what another of them does."""
    stored = statements.update_of(session, names)
    moved = [statements.update_of(run, names) for run, names in unwritten.moves.items()]
    others = [stored, *unwritten.rows, *moved]
    parts = [f"part_{place} AS ({sql}), " for place, (sql, _) in enumerate(others)]
    values = [value for _, values in others for value in values]
    told = statements.query(
        f"WITH {''.join(parts)}{_TOLD}", *values, *_values_of(session, unwritten.events)
    )
    for row, (pk, at) in zip(unwritten.events, told, strict=True):
        row.pk, row.created_at = pk, at


def _values_of(session: Session, rows: Sequence[Event]) -> list[object]:
    return [
        session.pk,
        [row.seq for row in rows],
        [row.run_id for row in rows],
        [json.dumps(row.data) for row in rows],
        *[[getattr(row, name) for row in rows] for name in _TEXTS],
    ]
