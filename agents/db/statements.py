"""Small reads and writes whose SQL is compiled once per process and planned once per connection.

Django compiles a queryset's SQL at each evaluation, and PostgreSQL plans it each time. For the small
statements at the start of every verb, both take several times as long as the execution. Measured on
two cores, CPU per verb (median), without fsync:

    variant                                   answer_ask()   settle_run() with one ask
    with this module                          1.9 - 2.1 ms   2.3 - 2.4 ms
    plain Django (get, save, bulk_create)     7.2 - 7.8 ms   6.9 - 7.2 ms

Use it only where ``make bench`` shows a gain: in claiming, settling, raising and answering, and in the
reads of every request or idle tick. Use plain Django everywhere else.

Four names are public: ``Prepared``, ``query``, ``insert``, ``update``. The rest depends on Django's
internals (``get_related_populators``, ``SQLCompiler``, ``_prepare_cursor``, ``_state``);
tests/agents/test_statements.py checks each of the four against a queryset or ``save``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, LiteralString, TypeVar, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.models import Field, Model, QuerySet
from django.db.models.expressions import DatabaseDefault
from django.db.models.query import get_related_populators
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from psycopg.sql import Literal
from psycopg.types.numeric import Int8

__all__ = ["Prepared", "insert", "query", "update"]

M = TypeVar("M", bound=Model)
Value = int | str | list[int]
#: Placeholders for the keys while the SQL is compiled. An expression would be cleaner, but keys are
#: also used in model instances and arrays, where Django converts them to plain numbers. They are far
#: above the ids of real rows, and a key that is missing from the SQL raises ValueError.
_NUMBERS = (2_147_483_629, 2_147_483_587, 2_147_483_579)
_PLACEHOLDERS: dict[type, Value] = {
    str: "\N{REPLACEMENT CHARACTER}placeholder",
    list: list(_NUMBERS),
}


def query(sql: str, *params: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Run a statement and return its rows. Keep its text constant: each text is planned separately."""
    here: Any = connections[DEFAULT_DB_ALIAS]
    here.ensure_connection()
    # Django's own cursor writes the values into the SQL, so the text would differ at each call.
    with here._prepare_cursor(psycopg.Cursor(here.connection)) as cursor:  # noqa: SLF001
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    if here.queries_logged:
        # Django asks its cursor which SQL was sent; this cursor does not know.
        here.queries_log[-1]["sql"] = here.ops.compose_sql(sql, params)
    return rows


class Prepared(Generic[M]):
    """A queryset whose SQL is compiled once.

    ``make`` is called once with one placeholder per key, to be used as filter values; every other
    value becomes part of the SQL. ``of`` gives the types of the keys, by default one number; a
    ``list`` of numbers is for ``expressions.is_among``. ``lock`` is a locking clause that querysets
    lack.
    """

    def __init__(
        self,
        make: Callable[..., QuerySet[M, Any]],
        *,
        of: Sequence[type] = (int,),
        lock: LiteralString = "",
    ) -> None:
        self._make, self._lock = make, lock
        numbers = iter(_NUMBERS)
        self._keys = [_PLACEHOLDERS.get(kind) or next(numbers) for kind in of]
        self._made: _Made | None = None

    def rows(self, *values: Value) -> list[tuple[Any, ...]]:
        """Return rows of values, as the queryset's ``values_list`` would.

        Values are psycopg's own, so select only columns that Django does not convert.
        """
        return self._read(values)[1]

    def all(self, *values: Value) -> list[M]:
        """Return the queryset's objects, with the related objects that it selects."""
        made, rows = self._read(values)
        return [made.objects.of(row) for row in rows]

    def first(self, *values: Value) -> M | None:
        """Return the first object in the queryset's own order, or None."""
        return next(iter(self.all(*values)), None)

    def _read(self, values: Sequence[Value]) -> tuple[_Made, list[tuple[Any, ...]]]:
        made = self._made
        if made is None:
            made = self._made = self._prepare()
        if made.locks and connection.get_autocommit():
            raise TransactionManagementError("Rows can only be locked inside a transaction.")
        sent = [_as_sent(value) for value in values]
        return made, query(made.sql, *[sent[place] for place in made.places])

    def _prepare(self) -> _Made:
        """Compile the SQL, with the keys as its only parameters. Raises ValueError if one is missing.

        All other values are written into the SQL: PostgreSQL uses a partial index on open asks only
        if the statement itself contains that condition.
        """
        connection.ensure_connection()
        made = self._make(*self._keys).query
        compiler = made.get_compiler(DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        places = [self._keys.index(param) for param in params if param in self._keys]
        if {*places} != {*range(len(self._keys))}:
            raise ValueError(f"This query does not depend on all its keys: {sql}")
        first, *rest = sql.split("%s")
        parts = [self._written(param) + part for param, part in zip(params, rest, strict=True)]
        locks = bool(made.select_for_update or self._lock)
        return _Made(f"{first}{''.join(parts)} {self._lock}", places, _Objects(compiler), locks)

    def _written(self, param: object) -> str:
        if param in self._keys:
            return "%s"
        return Literal(param).as_string(connection.connection).replace("%", "%%")


@dataclass(frozen=True)
class _Made:
    """The SQL, the place of each parameter among the keys, and how to make objects of its rows."""

    sql: str
    places: list[int]
    objects: _Objects
    locks: bool


class _Objects:
    """Makes objects of rows, as ``ModelIterable`` does, but prepares everything once."""

    def __init__(self, compiler: SQLCompiler) -> None:
        self._annotations = compiler.annotation_col_map or {}
        known = compiler.klass_info
        if known is None:  # a query for values: there are no objects to make
            return
        places, select = known["select_fields"], compiler.select
        self._model, self._own = known["model"], slice(places[0], places[-1] + 1)
        self._names = [column[0].target.attname for column in select[self._own]]
        populators: Callable[..., list[Any]] = get_related_populators
        self._populators = populators(known, select, DEFAULT_DB_ALIAS)
        columns = [column[0] for column in select[: compiler.col_count]]
        self._converters = compiler.get_converters(columns)

    def of(self, row: tuple[Any, ...]) -> Any:  # noqa: ANN401 -- of the queryset's model
        values, here = list(row), connections[DEFAULT_DB_ALIAS]
        for place, (converters, expression) in self._converters.items():
            for convert in converters:
                values[place] = convert(values[place], expression, here)
        made = self._model.from_db(DEFAULT_DB_ALIAS, self._names, values[self._own])
        for populator in self._populators:
            populator.populate(values, made)
        for name, place in self._annotations.items():
            setattr(made, name, values[place])
        return made


def insert(first: M, *others: M) -> M:
    """Insert new rows of one model in one statement, as ``save(force_insert=True)`` does.

    Return the first row.
    """
    rows = [first, *others]
    values = [_values(row) for row in rows]
    if len({(type(row), *given) for row, given in zip(rows, values, strict=True)}) != 1 or any(
        hasattr(value, "as_sql") for given in values for value in given.values()
    ):
        for row in rows:  # some values are SQL expressions, such as JSON's null
            row.save(force_insert=True)
        return first
    sql, returned = _insert_sql(type(rows[0]), tuple(values[0]), len(rows))
    filled = query(sql, *[_as_sent(value) for given in values for value in given.values()])
    for row, columns in zip(rows, filled, strict=True):
        for field, value in zip(returned, columns, strict=True):
            setattr(row, field.attname, value)
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS  # noqa: SLF001 -- as Django does
    return first


def _values(row: Model) -> dict[str, object]:
    """Return the row's values by column, without those that the database fills in."""
    values = {}
    for field in row._meta.concrete_fields:
        value = field.pre_save(row, add=True)
        if not isinstance(value, DatabaseDefault) and not (field.primary_key and value is None):
            values[str(field.column)] = field.get_db_prep_save(value, connection)
    return values


@cache
def _insert_sql(
    model: type[Model], columns: tuple[str, ...], count: int
) -> tuple[str, list[Field[Any, Any]]]:
    """Return the statement, and the fields that it returns: the key and database defaults."""
    quoted, fields = connection.ops.quote_name, model._meta.concrete_fields
    returned = [field for field in fields if field.primary_key or field.column not in columns]
    back = ", ".join(quoted(str(field.column)) for field in returned)
    into = f"INSERT INTO {quoted(model._meta.db_table)} ({', '.join(map(quoted, columns))})"
    row = f"({', '.join(['%s'] * len(columns))})"
    return f"{into} VALUES {', '.join([row] * count)} RETURNING {back}", returned


def _as_sent(value: object) -> object:
    """Send all numbers in one size: PostgreSQL would plan a separate statement for each size."""
    if isinstance(value, list):
        return [_as_sent(one) for one in value]
    return Int8(value) if type(value) is int else value


def update(row: Model, names: Sequence[str]) -> None:
    """Save the named fields of a row, as ``save(update_fields=names)`` does. Raises DatabaseError."""
    fields = _fields(type(row), tuple(names))
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
    if not query(_update_sql(type(row), tuple(names)), *map(_as_sent, (*values, row.pk))):
        raise DatabaseError(f"There is no {row._meta.label} {row.pk} to update.")


@cache
def _fields(model: type[Model], names: tuple[str, ...]) -> list[Field[Any, Any]]:
    return [cast("Field[Any, Any]", model._meta.get_field(name)) for name in names]


@cache
def _update_sql(model: type[Model], names: tuple[str, ...]) -> str:
    quoted = connection.ops.quote_name
    values = ", ".join(f"{quoted(str(field.column))} = %s" for field in _fields(model, names))
    table, key = quoted(model._meta.db_table), quoted(str(model._meta.pk.column))
    return f"UPDATE {table} SET {values} WHERE {key} = %s RETURNING {key}"  # noqa: S608 -- our names only
