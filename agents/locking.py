"""The one lock: a session's row. Every writer of a session takes it first, inside a transaction.

Two sessions are only ever locked together through ``lock_sessions``, in the order of their ids,
so two transactions cannot wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from agents.models import Session


def lock_session(session_id: int) -> Session:
    """The session, locked until the transaction ends.

    Raises Session.DoesNotExist, and TransactionManagementError outside a transaction.
    """
    return Session.objects.select_for_update(of=("self",)).select_related("agent").get(pk=session_id)


def lock_sessions(session_ids: Iterable[int]) -> dict[int, Session]:
    """Several sessions, locked in the one order. Ids that do not exist are left out."""
    rows = (
        Session.objects.select_for_update(of=("self",))
        .select_related("agent")
        .filter(pk__in=set(session_ids))
        .order_by("pk")
    )
    return {session.pk: session for session in rows}
