"""Prove the whole ledger, or report the first record that is broken.

The check is one pass over one snapshot of the database, in batches. It works for a ledger of any
size, and concurrent answers do not disturb it.
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
    """Counts of what was proved. ``anchored`` counts the records up to a head that an anchor signed."""

    records: int
    chains: int
    anchors: int
    anchored: int
    last_anchor: str


def verify_ledger(
    progress: Callable[[int, int], None] | None = None, *, expect: str = ""
) -> Proved:
    """Check every link, anchor and row. Raises BrokenLedger.

    ``progress`` is called with (records checked, total records). ``expect`` is the hash of an anchor,
    kept elsewhere, that must exist.
    """
    # Read the log before the snapshot: an anchor written in between would be missing from the snapshot.
    noted = anchors.noted_heads()
    with transaction.atomic():
        take_snapshot()
        signed = anchor_checks.check_anchors(noted=noted, expect=expect)
        walk = Walk(signed.heads)
        done = _walk_all(walk, progress or _silently)
        walk.finish()
        rows.find_unrecorded()
    return Proved(done, walk.chains, signed.count, walk.anchored, signed.last)


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
    """Check the links and anchored heads of one chain and return its number of records.

    The rows that the records describe are not compared. Raises BrokenLedger.
    """
    naming = Anchor.objects.filter(body__contains=f"{json.dumps(chain)}:")
    heads = [json.loads(body)["heads"][chain] for body in naming.values_list("body", flat=True)]
    walk = Walk({chain: dict(heads)} if heads else {})
    for record in LedgerRecord.objects.filter(chain=chain).order_by("seq").iterator(BATCH):
        walk.take(record)
    walk.finish()
    return walk.head.seq


def records() -> Iterator[LedgerRecord]:
    """Iterate over every record, chain by chain, through a server-side cursor."""
    return LedgerRecord.objects.order_by("chain", "seq").iterator(BATCH)


def _batches(ledger: Iterable[LedgerRecord]) -> Iterator[list[LedgerRecord]]:
    remaining = iter(ledger)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def take_snapshot() -> None:
    """Read from one snapshot of the database until the transaction ends.

    Does nothing inside a transaction that has already begun.
    """
    if not connection.savepoint_ids:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
