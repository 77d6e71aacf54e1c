"""Helpers that use bare SQL, past all verbs and model validation, to see the database refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction


@contextmanager
def refused(by: str) -> Iterator[None]:
    """Require that the database rejects the block and names ``by``; keep everything before the block."""
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(DatabaseError, match=by), transaction.atomic():  # noqa: PT012 -- any of it
        yield
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")


def run_sql(statement: str, values: Sequence[Any] = ()) -> None:
    """Run a statement. If it affects rows, it must affect at least one."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount != 0, "the statement found nothing to be refused"


def copy_row(table: str, pk: int, **changes: Any) -> None:
    """Insert a copy of a row with a new key and other values in some columns."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_name = %s AND column_name <> 'id'",
            [table],
        )
        columns = [str(row[0]) for row in cursor.fetchall()]
        chosen = ", ".join("%s" if column in changes else f'"{column}"' for column in columns)
        names = ", ".join(f'"{column}"' for column in columns)
        values = [changes[column] for column in columns if column in changes]
        cursor.execute(
            f'INSERT INTO "{table}" ({names}) SELECT {chosen} FROM "{table}" WHERE id = %s',
            [*values, pk],
        )
        assert cursor.rowcount == 1
