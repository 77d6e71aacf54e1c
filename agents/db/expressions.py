"""Expressions that Django's ORM has no words for: the database's clock, and membership in an array."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import BigIntegerField, BooleanField, DateTimeField, F, Func, Value


class ClockNow(Func):
    """The present moment as a column, moving on within a transaction."""

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def database_now() -> datetime:
    """The present moment by the database, moving on within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


class IsAny(Func):
    """Whether a value is among those of an array, which may be one parameter."""

    template = "(%(expressions)s))"
    arg_joiner = " = ANY("
    output_field = BooleanField()


def is_among(name: str, numbers: list[int]) -> IsAny:
    """Whether a column is one of some numbers, as one parameter however many there are."""
    return IsAny(F(name), Value(numbers, output_field=ArrayField(BigIntegerField())))
