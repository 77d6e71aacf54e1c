"""Conditions on PostgreSQL's arrays that Django has no lookup for."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db.models import BigIntegerField, BooleanField, F, Func, Value


class IsAny(Func):
    """Whether a value is among those of an array, which may be one parameter."""

    template = "(%(expressions)s))"
    arg_joiner = " = ANY("
    output_field = BooleanField()


def among(name: str, numbers: list[int]) -> IsAny:
    """Whether a column is one of some numbers, as one parameter however many there are."""
    return IsAny(F(name), Value(numbers, output_field=ArrayField(BigIntegerField())))
