"""Queries whose SQL is made once per process and planned once per connection.

Django makes a queryset's SQL anew each time it is read, and PostgreSQL its plan. For the small reads
that every verb and every request begins with, both take several times as long as the answer.
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

#: Stand for the numbers that are asked about while the SQL is made; no row has one.
STAND_INS = (2_147_483_629, 2_147_483_587, 2_147_483_579)
#: Stand for a text and for several numbers in the same way.
STAND_IN_TEXT = "\N{REPLACEMENT CHARACTER}stand-in"
STAND_IN_LIST = [*STAND_INS]

M = TypeVar("M", bound=Model)
Key = int | str | list[int]
#: SQL, and the values of its parameters.
Statement = tuple[str, list[object]]


def query(sql: str, *params: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """What a statement finds, planned once per connection. Its text is the same every time."""
    here: Any = connections[DEFAULT_DB_ALIAS]
    here.ensure_connection()
    # Django's own cursor writes values into the SQL, which would then be another each time.
    with here._prepare_cursor(psycopg.Cursor(here.connection)) as cursor:  # noqa: SLF001
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    if here.queries_logged:
        # Django asks its own cursor what was sent, and this one does not know.
        here.queries_log[-1]["sql"] = here.ops.compose_sql(sql, params)
    return rows


class Prepared(Generic[M]):
    """Reads what ``make`` makes of its keys.

    ``make`` is called once and must not look at them but pass them on as parameters. ``of`` says
    what they are, one number unless told; several numbers, a ``list``, are for ``arrays.among``.
    Everything else becomes part of the SQL. ``lock`` is one that querysets have no words for.
    """

    def __init__(
        self,
        make: Callable[..., QuerySet[M, Any]],
        *,
        of: Sequence[type] = (int,),
        lock: LiteralString = "",
    ) -> None:
        self._make, self._lock = make, lock
        numbers = iter(STAND_INS)
        others: dict[type, Key] = {str: STAND_IN_TEXT, list: STAND_IN_LIST}
        self._stand_ins = [others.get(kind) or next(numbers) for kind in of]
        self._made: _Made | None = None

    def rows(self, *keys: Key) -> list[tuple[Any, ...]]:
        """Rows of values, as of the queryset's ``values_list``.

        Values are psycopg's own, so only columns that Django does not convert may be read.
        """
        return self._read(keys)[1]

    def all(self, *keys: Key) -> list[M]:
        """The queryset's objects, with those that it selects along."""
        made, rows = self._read(keys)
        return [made.objects.of(row) for row in rows]

    def first(self, *keys: Key) -> M | None:
        """The first of them; the queryset says which that is."""
        return next(iter(self.all(*keys)), None)

    def _read(self, keys: Sequence[Key]) -> tuple[_Made, list[tuple[Any, ...]]]:
        made = self._made
        if made is None:
            made = self._made = self._prepare()
        if made.locks and connection.get_autocommit():
            raise TransactionManagementError("Rows are locked inside a transaction only.")
        values = [_as_sent(key) for key in keys]
        return made, query(made.sql, *[values[place] for place in made.places])

    def _prepare(self) -> _Made:
        """Make the SQL, with the keys as its only parameters. Raises ValueError if one is left out.

        All else is written into it: an index on open asks serves only who says that they are open.
        """
        connection.ensure_connection()
        query = self._make(*self._stand_ins).query
        compiler = query.get_compiler(DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        places = [self._stand_ins.index(one) for one in params if one in self._stand_ins]
        if {*places} != {*range(len(self._stand_ins))}:
            raise ValueError(f"This query does not depend on all its keys: {sql}")
        first, *rest = sql.split("%s")
        said = [self._written(one) + part for one, part in zip(params, rest, strict=True)]
        text = f"{first}{''.join(said)} {self._lock}"
        locks = bool(query.select_for_update or self._lock)
        return _Made(text, places, _Objects(compiler), locks)

    def _written(self, param: object) -> str:
        if param in self._stand_ins:
            return "%s"
        return Literal(param).as_string(connection.connection).replace("%", "%%")


@dataclass(frozen=True)
class _Made:
    """SQL, which key each of its parameters is, and what its rows become."""

    sql: str
    places: list[int]
    objects: _Objects
    locks: bool


class _Objects:
    """Makes objects of rows, as ``ModelIterable`` does; what it looks up each time is known here."""

    def __init__(self, compiler: SQLCompiler) -> None:
        self._annotations = compiler.annotation_col_map or {}
        known = compiler.klass_info
        if known is None:  # a query for values, of which no objects are made
            return
        places, select = known["select_fields"], compiler.select
        self._model, self._own = known["model"], slice(places[0], places[-1] + 1)
        self._names = [column[0].target.attname for column in select[self._own]]
        populators: Callable[..., list[Any]] = get_related_populators
        self._populators = populators(known, select, DEFAULT_DB_ALIAS)
        columns = [column[0] for column in select[: compiler.col_count]]
        self._converters = compiler.get_converters(columns)

    def of(self, row: tuple[Any, ...]) -> Any:  # noqa: ANN401 -- of whatever model was asked for
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


def insert(row: M) -> M:
    """Insert a new row, as ``row.save(force_insert=True)`` does."""
    insert_all([row])
    return row


def insert_all(rows: Sequence[Model]) -> None:
    """Insert new rows of one model, as ``insert`` does each of them, in one statement."""
    given = [_given(row) for row in rows]
    if len({(type(row), *one) for row, one in zip(rows, given, strict=True)}) != 1 or any(
        hasattr(value, "as_sql") for one in given for value in one.values()
    ):
        for row in rows:  # JSON's null, say, is SQL and no value
            row.save(force_insert=True)
        return
    sql, told = _insert_of(type(rows[0]), tuple(given[0]), len(rows))
    found = query(sql, *[_as_sent(value) for one in given for value in one.values()])
    for row, values in zip(rows, found, strict=True):
        for field, value in zip(told, values, strict=True):
            setattr(row, field.attname, value)
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS  # noqa: SLF001 -- as Django does


def insert_of(row: Model) -> Statement | None:
    """The statement by which ``insert`` inserts a row; None if one of its values is SQL."""
    given = _given(row)
    if any(hasattr(value, "as_sql") for value in given.values()):
        return None
    sql, _ = _insert_of(type(row), tuple(given), 1)
    return sql, [_as_sent(value) for value in given.values()]


def _given(row: Model) -> dict[str, object]:
    """The row's values by column, without those that the database fills."""
    given = {}
    for field in row._meta.concrete_fields:
        value = field.pre_save(row, add=True)
        if not isinstance(value, DatabaseDefault) and not (field.primary_key and value is None):
            given[str(field.column)] = field.get_db_prep_save(value, connection)
    return given


@cache
def _insert_of(
    model: type[Model], columns: tuple[str, ...], count: int
) -> tuple[str, list[Field[Any, Any]]]:
    """The statement, and what it gives back: the key, and columns that the database fills."""
    quoted, fields = connection.ops.quote_name, model._meta.concrete_fields
    told = [field for field in fields if field.primary_key or field.column not in columns]
    back = ", ".join(quoted(str(field.column)) for field in told)
    into = f"INSERT INTO {quoted(model._meta.db_table)} ({', '.join(map(quoted, columns))})"
    row = f"({', '.join(['%s'] * len(columns))})"
    return f"{into} VALUES {', '.join([row] * count)} RETURNING {back}", told


def _as_sent(value: object) -> object:
    """Numbers have one size, or each size would be a statement of its own."""
    if isinstance(value, list):
        return [_as_sent(one) for one in value]
    return Int8(value) if type(value) is int else value


def update(row: Model, names: Sequence[str]) -> None:
    """Write these fields of a row that exists, as ``row.save(update_fields=names)`` does."""
    sql, values = update_of(row, names)
    if not query(sql, *values):
        raise DatabaseError(f"There is no {row._meta.label} {row.pk} to be written.")


def update_of(row: Model, names: Sequence[str]) -> Statement:
    """The statement by which ``update`` would write these fields. It gives the row's key back."""
    fields = _fields(type(row), tuple(names))
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
    return _update_of(type(row), tuple(names)), [_as_sent(one) for one in (*values, row.pk)]


@cache
def _fields(model: type[Model], names: tuple[str, ...]) -> list[Field[Any, Any]]:
    return [cast("Field[Any, Any]", model._meta.get_field(name)) for name in names]


@cache
def _update_of(model: type[Model], names: tuple[str, ...]) -> str:
    quoted = connection.ops.quote_name
    said = ", ".join(f"{quoted(str(field.column))} = %s" for field in _fields(model, names))
    table, key = quoted(model._meta.db_table), quoted(str(model._meta.pk.column))
    return f"UPDATE {table} SET {said} WHERE {key} = %s RETURNING {key}"  # noqa: S608 -- our names only


def with_only(model: type[M], names: Sequence[str], values: Sequence[Any]) -> M:
    """An instance of which only these columns were read; Django reads any other when it is used."""
    known = dict(zip(names, values, strict=True))
    fields = [field.attname for field in model._meta.concrete_fields if field.attname in known]
    return model.from_db(DEFAULT_DB_ALIAS, fields, [known[name] for name in fields])
