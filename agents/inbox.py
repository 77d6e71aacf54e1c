"""The inbox of a session: items are queued, leased to a run, and acknowledged once it completes."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import F, QuerySet

from agents.db import statements
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.lifecycle import InboxKind, InboxState
from agents.locking import LockedSession
from agents.models import InboxItem, Run, Session
from agents.running.runtime import Given
from agents.text.storable import make_storable

MAX_HOPS = 4
MAX_FAILED_DELIVERIES = 3

#: Lease the queued items, and keep those that were leased to a lost claim of the same run.
_LEASE = """
WITH leased AS (
    UPDATE agents_inboxitem SET state = 'leased', leased_by_id = %s
    WHERE session_id = %s AND (state = 'queued' OR state = 'leased' AND leased_by_id = %s)
    RETURNING id, kind, author, body, data
) SELECT kind, author, body, data FROM leased ORDER BY id
"""
_ACK = """
WITH acked AS (
    UPDATE agents_inboxitem SET state = 'acked' WHERE leased_by_id = %s AND state = 'leased'
) SELECT EXISTS (SELECT FROM agents_inboxitem WHERE session_id = %s AND state = 'queued')
"""


def enqueue_item(
    session: LockedSession,
    kind: InboxKind,
    *,
    author: str,
    body: str,
    data: dict[str, Any] | None = None,
    hops: int = 0,
    source_key: str = "",
) -> InboxItem:
    """Queue an item for a session. Items of one session with the same ``source_key`` are refused.

    Raises IntegrityError.
    """
    item = InboxItem(
        session=session,
        kind=kind,
        author=author,
        body=make_storable(body),
        data=make_storable(data or {}),
        hops=hops,
        source_key=source_key,
    )
    return statements.insert(item)


def lease_items(run: Run) -> list[Given]:
    """Lease to a claimed run every queued item and the items of its lost claims; return them."""
    rows = statements.query(_LEASE, run.pk, run.session_id, run.pk)
    return [Given(kind, author, body, json.loads(data)) for kind, author, body, data in rows]  # noqa: TID251  we wrote it


def peek_items(session: Session) -> list[Given]:
    """Return the items that a session is still owed, without leasing them."""
    owed = session.inbox.filter(state__in=(InboxState.QUEUED, InboxState.LEASED)).order_by("pk")
    return [Given(item.kind, item.author, item.body, item.data) for item in owed]


def acknowledge_items(run: Run) -> bool:
    """Acknowledge the items of a completed run; return whether more are queued for its session."""
    ((more,),) = statements.query(_ACK, run.pk, run.session_id)
    return bool(more)


def release_items(run: Run) -> None:
    """Queue the items of a run again, without counting a failed attempt."""
    _leased(run).update(state=InboxState.QUEUED, leased_by=None)


def return_failed_items(session: LockedSession, run: Run) -> None:
    """Queue the items of a failed run again. Give up mail that has failed three times, and report it."""
    _leased(run).update(attempts=F("attempts") + 1)
    dead = _leased(run).filter(kind=InboxKind.MAIL, attempts__gte=MAX_FAILED_DELIVERIES)
    if authors := list(dead.order_by("pk").values_list("author", flat=True)):
        dead.update(state=InboxState.DEAD)
        record_event(
            session,
            "mail_lost",
            actor="system",
            run=run,
            text=f"{len(authors)} message(s) given up after {MAX_FAILED_DELIVERIES} failed turns.",
            data={"from": authors},
        )
    release_items(run)


def _leased(run: Run) -> QuerySet[InboxItem]:
    return InboxItem.objects.filter(leased_by=run, state=InboxState.LEASED)


def amend_owed_verdict(session: LockedSession, about: dict[str, Any], more: dict[str, Any]) -> None:
    """Add data to the verdicts about something that no completed run has carried yet."""
    owed = InboxItem.objects.filter(session=session, kind=InboxKind.VERDICT, data__contains=about)
    for item in owed.filter(state__in=(InboxState.QUEUED, InboxState.LEASED)):
        item.data |= make_storable(more)
        item.save(update_fields=["data"])


def has_waiting_items(session: Session) -> bool:
    """Whether any item is queued that no run holds."""
    return bool(_QUEUED.rows(session.pk))


_QUEUED = Prepared(
    lambda pk: InboxItem.objects.filter(session=pk, state=InboxState.QUEUED).values_list("pk")[:1]
)


def hops_of(run: Run) -> int:
    """Return how many agents the mail leased to a run has passed through, at most."""
    return max(_leased(run).values_list("hops", flat=True), default=0)
