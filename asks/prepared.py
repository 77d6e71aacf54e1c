"""Queries about one row, whose SQL is made once per process and planned once per connection.

Django makes a queryset's SQL anew each time it is read, and PostgreSQL its plan. For what the queue
asks, at every request and for every hint, both take several times as long as the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet
from psycopg.sql import Literal
from psycopg.types.numeric import Int8

#: Stands for the number that is asked about while the SQL is made; no row has it.
STAND_IN = 2_147_483_629

M = TypeVar("M", bound=Model)


class Prepared:
    """Reads what ``make`` makes for a number: rows of values, as of its ``values_list``.

    ``make`` is called once and must not look at the number but pass it on as a parameter. Values are
    psycopg's own, so only columns that Django does not convert may be read.
    """

    def __init__(self, make: Callable[[int], QuerySet[Any, Any]]) -> None:
        self._make = make
        self._sql = ""
        self._count = 0

    def rows(self, number: int) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            if not self._sql:
                self._prepare(cursor.connection)
            # Django's own cursor writes values into the SQL, which would then be another each time.
            cursor.cursor = psycopg.Cursor(cursor.connection)
            cursor.execute(self._sql, [Int8(number)] * self._count)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def _prepare(self, on: psycopg.Connection[Any]) -> None:
        """Make the SQL, with the number as its only parameter. Raises ValueError if it has none.

        All else is written into it: an index on open asks serves only who says that they are open.
        """
        sql, params = self._make(STAND_IN).query.sql_with_params()
        if STAND_IN not in params:
            raise ValueError(f"This query does not depend on its number: {sql}")
        first, *rest = sql.split("%s")
        said = [_written(one, on) + part for one, part in zip(params, rest, strict=True)]
        self._sql, self._count = first + "".join(said), params.count(STAND_IN)


def _written(param: object, on: psycopg.Connection[Any]) -> str:
    return "%s" if param == STAND_IN else Literal(param).as_string(on).replace("%", "%%")


def with_only(model: type[M], names: Sequence[str], values: Sequence[Any]) -> M:
    """An instance of which only these columns were read; Django reads any other when it is used."""
    known = dict(zip(names, values, strict=True))
    fields = [field.attname for field in model._meta.concrete_fields if field.attname in known]
    return model.from_db(DEFAULT_DB_ALIAS, fields, [known[name] for name in fields])
