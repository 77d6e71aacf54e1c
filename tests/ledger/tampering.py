"""Writes past every guard of the database, as the owner of its tables can."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from hypothesis import assume
from psycopg.types.json import Jsonb

from asks.ledger import verify
from asks.models import LedgerRecord


class _Undo(Exception):
    """Takes back what was tampered with."""


@contextmanager
def undone() -> Iterator[None]:
    """Whatever happens inside is taken back. What the database refuses by itself is no example."""
    try:
        with undone_plainly():
            yield
    except IntegrityError:
        assume(False)


@contextmanager
def undone_plainly() -> Iterator[None]:
    """The same where no examples are made up: what the database refuses is raised."""
    with contextlib.suppress(_Undo), transaction.atomic():
        yield
        raise _Undo


def execute(table: type[models.Model], statement: str, *params: Any) -> None:
    """Run a statement on ``{table}`` with its triggers off."""
    name = table._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER")
        cursor.execute(statement.replace("{table}", name), params)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")


def overwrite(row: models.Model, column: str, value: Any) -> None:
    """Write another value into one column of a row."""
    if isinstance(row._meta.get_field(column.removesuffix("_id")), models.JSONField):
        value = Jsonb(value)
    key = row._meta.pk
    assert key is not None
    statement = f'UPDATE {{table}} SET "{column}" = %s WHERE "{key.column}" = %s'
    execute(type(row), statement, value, row.pk)


def other(value: Any, place: int, by: int) -> Any:
    """A value that differs in one place: a character, a digit's bit, a microsecond, a nested value."""
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, int | datetime):
        return value + by if isinstance(value, int) else value + timedelta(microseconds=by)
    if isinstance(value, dict):
        name = sorted(value)[place % len(value)] if value else "added"
        return {**value, name: other(value.get(name), place, by)}
    return [*value, by] if isinstance(value, list) else _other_text(str(value), place, by)


def _other_text(text: str, place: int, by: int) -> str:
    if not text:
        return chr(0x60 + by % 26)
    place %= len(text)
    changed = chr(1 + (ord(text[place]) - 1 + by) % 0xD7FF)
    return text[:place] + changed + text[place + 1 :]


@contextmanager
def found_broken() -> Iterator[pytest.ExceptionInfo[verify.BrokenLedger]]:
    """The ledger must be found broken inside."""
    with pytest.raises(verify.BrokenLedger) as found:
        yield found


def where(record: LedgerRecord) -> str:
    return f"{record.chain} {record.seq}"
