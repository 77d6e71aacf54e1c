"""Expressions that Django's ORM lacks: the database's clock, and membership in an array."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import BigIntegerField, BooleanField, DateTimeField, F, Func, Value


class ClockNow(Func):
    """The current time as a column. Unlike ``Now``, it advances within a transaction."""

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def database_now() -> datetime:
    """Return the database's current time. It advances within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


class IsAny(Func):
    """Whether a value is an element of an array. The array may be a single parameter."""

    template = "(%(expressions)s))"
    arg_joiner = " = ANY("
    output_field = BooleanField()


def is_among(name: str, numbers: list[int]) -> IsAny:
    """Return a condition: a column is one of these numbers. They are sent as a single parameter."""
    return IsAny(F(name), Value(numbers, output_field=ArrayField(BigIntegerField())))
