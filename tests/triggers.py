"""Rows brought past the triggers that guard them, in the way that is open to the tables' owner.

What only a superuser may do would keep these tests from a server that is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection

GUARDED = "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"


@contextmanager
def triggers_off(*tables: str) -> Iterator[None]:
    """Without the triggers of these tables, or of all, to the end of the block.

    Keys between tables go on being checked, from here on after every statement.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        if not tables:
            cursor.execute(GUARDED)
            tables = tuple(table for (table,) in cursor.fetchall())
    _switch("DISABLE", tables)
    yield
    _switch("ENABLE", tables)


def _switch(how: str, tables: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("; ".join(f"ALTER TABLE {table} {how} TRIGGER USER" for table in tables))
