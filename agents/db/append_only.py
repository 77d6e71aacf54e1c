"""Triggers for append-only tables."""

from __future__ import annotations

import pgtrigger


def append_only_triggers(name: str) -> list[pgtrigger.Trigger]:
    """Return triggers that reject UPDATE, DELETE and TRUNCATE on a table."""
    return [
        pgtrigger.Protect(
            name=f"{name}_never_change", operation=pgtrigger.Update | pgtrigger.Delete
        ),
        _never_truncate(name),
    ]


def never_delete_triggers(name: str) -> list[pgtrigger.Trigger]:
    """Return triggers that reject DELETE and TRUNCATE on a table."""
    return [
        pgtrigger.Protect(name=f"{name}_never_go", operation=pgtrigger.Delete),
        _never_truncate(name),
    ]


def _never_truncate(name: str) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(
        name=f"{name}_never_truncate",
        when=pgtrigger.Before,
        operation=pgtrigger.Truncate,
        level=pgtrigger.Statement,
        func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
    )
