"""Triggers of tables that are only ever added to."""

from __future__ import annotations

import pgtrigger


def append_only_triggers(name: str) -> list[pgtrigger.Trigger]:
    """The database refuses to change, delete or truncate the rows of a table."""
    return [
        pgtrigger.Protect(
            name=f"{name}_never_change", operation=pgtrigger.Update | pgtrigger.Delete
        ),
        pgtrigger.Trigger(
            name=f"{name}_never_truncate",
            when=pgtrigger.Before,
            operation=pgtrigger.Truncate,
            level=pgtrigger.Statement,
            func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
        ),
    ]
