"""Count what stops no work but needs a person who may change owners."""

from __future__ import annotations

from django.db import DatabaseError, InterfaceError

from asks.queue import unanswerable


def alarms() -> dict[str, int]:
    """Return {name: count} of each alarm that is not 0; empty if the database does not answer."""
    try:
        counts = {
            "unanswerable_asks": unanswerable.unanswerable_asks().count(),
            "agents_without_owner": unanswerable.agents_without_owner().count(),
        }
    except (DatabaseError, InterfaceError):
        return {}
    return {name: count for name, count in counts.items() if count}
