"""Prove one record, for its receipt: its chain, its rows, and an anchor that covers it."""

from __future__ import annotations

import json

from django.utils.translation import gettext as _

from asks.ledger.verify import rows
from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.links import Line, Walk
from asks.ledger.verify.whole import BATCH
from asks.models import Anchor, LedgerRecord


def prove_record(record: LedgerRecord) -> Anchor | None:
    """Return the first anchor that covers the record, or None. Raises BrokenLedger."""
    walk, hashes = Walk({}), {}
    mine: Line | None = None
    chain = LedgerRecord.objects.filter(chain=record.chain).order_by("seq")
    for link in chain.iterator(BATCH):
        line = walk.take(link)
        hashes[line.seq] = line.hash
        mine = line if line.hash == record.hash else mine
    if mine is None:
        raise BrokenLedger(f"{record.chain} {record.seq}", _("it is missing"))
    rows.compare_rows([mine])
    return _anchor_over(mine, record, hashes)


def _anchor_over(line: Line, record: LedgerRecord, hashes: dict[int, str]) -> Anchor | None:
    """Return the first anchor whose head of the chain is this record or a later one."""
    naming = Anchor.objects.filter(
        at__gte=record.at, body__contains=f"{json.dumps(line.chain)}:"
    ).order_by("number")
    for anchor in naming[:1]:
        seq, digest = json.loads(anchor.body)["heads"][line.chain]
        if hashes.get(seq) != digest:
            text = _("anchor %(number)d signed a different chain")
            raise line.broken(text % {"number": anchor.number})
        if seq >= line.seq:
            return anchor
    return None
