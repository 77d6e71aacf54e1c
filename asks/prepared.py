"""Queries about one row, whose SQL is made once per process.

Django makes a queryset's SQL anew each time it is read. For what the queue asks, at every request and
for every hint, that takes several times as long as PostgreSQL takes to answer it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet

#: Stands for the number that is asked about while the SQL is made; no row has it.
STAND_IN = 2_147_483_629

Sql = tuple[str, tuple[Any, ...]]
M = TypeVar("M", bound=Model)


class Prepared:
    """Reads what ``make`` makes for a number: rows of values, as of its ``values_list``.

    ``make`` is called once and must not look at the number but pass it on as a parameter. Values are
    psycopg's own, so only columns that Django does not convert may be read.
    """

    def __init__(self, make: Callable[[int], QuerySet[Any, Any]]) -> None:
        self._make = make
        self._sql: Sql | None = None

    def rows(self, number: int) -> list[tuple[Any, ...]]:
        sql, params = self._sql or self._prepare()
        bound = [type(one)(number) if one == STAND_IN else one for one in params]
        with connection.cursor() as cursor:
            cursor.execute(sql, bound)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def _prepare(self) -> Sql:
        """The SQL and its parameters. Raises ValueError if the number is none of them."""
        sql, params = self._make(STAND_IN).query.sql_with_params()
        if STAND_IN not in params:
            raise ValueError(f"This query does not depend on its number: {sql}")
        self._sql = sql, params
        return self._sql


def with_only(model: type[M], names: Sequence[str], values: Sequence[Any]) -> M:
    """An instance of which only these columns were read; Django reads any other when it is used."""
    known = dict(zip(names, values, strict=True))
    fields = [field.attname for field in model._meta.concrete_fields if field.attname in known]
    return model.from_db(DEFAULT_DB_ALIAS, fields, [known[name] for name in fields])
