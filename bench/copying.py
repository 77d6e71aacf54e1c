"""Copy a row that the real verbs made, so that measurements use what the product stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, models


def multiply(
    template: models.Model, source: str, values: Sequence[Any] = (), **changed: str
) -> list[int]:
    """Copy a row once per row of a SQL source, with some columns as SQL; return the new ids."""
    columns = [
        field.column
        for field in template._meta.concrete_fields
        if not field.primary_key and field.column is not None
    ]
    selected = ", ".join(changed.get(column, f"template.{column}") for column in columns)
    table = template._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)})"
            f" SELECT {selected} FROM {table} template, {source}"
            f" WHERE template.id = %s RETURNING id",
            [*values, template.pk],
        )
        return [row[0] for row in cursor.fetchall()]
