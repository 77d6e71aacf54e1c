"""Proves the whole ledger, or names the first record that is broken.

One pass over one snapshot of the database, in batches, so that its size does not matter and that
answers given meanwhile disturb nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.db import connection, transaction

from asks.ledger import anchors
from asks.ledger.verify import anchor_checks, rows
from asks.ledger.verify.links import Walk
from asks.models import Anchor, LedgerRecord

BATCH = 1000


@dataclass(frozen=True)
class Proved:
    """How much was proved. ``anchored`` records stand at or before a head that an anchor signed."""

    records: int
    chains: int
    anchors: int
    anchored: int
    last_anchor: str


def verify_ledger(
    progress: Callable[[int, int], None] | None = None, *, expect: str = ""
) -> Proved:
    """Check every link, anchor and row. ``progress`` gets (records done, records in all).

    ``expect`` is the hash of an anchor that was kept elsewhere and must be there. Raises BrokenLedger.
    """
    # Before the snapshot: an anchor that is made meanwhile is noted, and not in what we see.
    noted = anchors.noted_heads()
    with transaction.atomic():
        take_snapshot()
        found = anchor_checks.check_anchors(noted=noted, expect=expect)
        walk = Walk(found.heads)
        done = _walk_all(walk, progress or _silently)
        walk.finish()
        rows.find_unrecorded()
    return Proved(done, walk.chains, found.count, walk.anchored, found.last)


def _silently(done: int, total: int) -> None:
    del done, total


def _walk_all(walk: Walk, progress: Callable[[int, int], None]) -> int:
    total, done = LedgerRecord.objects.count(), 0
    for batch in _batches(records()):
        lines, broken = walk.take_all(batch)
        rows.compare_rows(lines)
        if broken:
            raise broken
        done += len(batch)
        progress(done, total)
    return done


def verify_chain(chain: str) -> int:
    """Check the links and anchored heads of one chain; how many records it has.

    The rows it tells of are not looked at. Raises BrokenLedger.
    """
    naming = Anchor.objects.filter(body__contains=f"{json.dumps(chain)}:")
    heads = [json.loads(body)["heads"][chain] for body in naming.values_list("body", flat=True)]
    walk = Walk({chain: dict(heads)} if heads else {})
    for record in LedgerRecord.objects.filter(chain=chain).order_by("seq").iterator(BATCH):
        walk.take(record)
    walk.finish()
    return walk.head.seq


def records() -> Iterator[LedgerRecord]:
    """Every record, chain by chain, through a cursor of the server."""
    return LedgerRecord.objects.order_by("chain", "seq").iterator(BATCH)


def _batches(found: Iterable[LedgerRecord]) -> Iterator[list[LedgerRecord]]:
    found = iter(found)
    while batch := list(islice(found, BATCH)):
        yield batch


def take_snapshot() -> None:
    """See the database as it is now until the transaction ends, whatever others write.

    Inside a transaction that has begun already, its own view has to do.
    """
    if not connection.savepoint_ids:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
