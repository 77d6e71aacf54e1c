"""Check that each record matches its hash, its predecessor, and the anchor that signed it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from agents.text.canonical_json import iso_moment
from asks.ledger.chain import VERSION, Head
from asks.ledger.verify.broken import BrokenLedger
from asks.models import LedgerRecord

#: The heads in anchors: {chain: {seq: hash}}.
Heads = dict[str, dict[int, str]]


@dataclass(frozen=True)
class Line:
    """A record that matches its hash, its columns and the previous record."""

    chain: str
    seq: int
    hash: str
    kind: str
    subject: str
    facts: dict[str, Any]

    def broken(self, why: str) -> BrokenLedger:
        return BrokenLedger(f"{self.chain} {self.seq}", why)


class Walk:
    """Check records of many chains. Feed it chain by chain, in the order of ``seq``."""

    def __init__(self, anchored: Heads) -> None:
        self.chains = 0
        self.anchored = 0
        self.head = Head("")
        self._to_come: Heads = {chain: dict(heads) for chain, heads in anchored.items()}
        self._here: dict[int, str] = {}
        self._anchored_to = 0

    def take(self, record: LedgerRecord) -> Line:
        """Check the next record. Raises BrokenLedger."""
        if record.chain != self.head.chain:
            self._end_chain()
            self._begin_chain(record.chain)
        line = checked_link(record, self.head)
        self.anchored += line.seq <= self._anchored_to
        if self._here.pop(line.seq, line.hash) != line.hash:
            raise line.broken(_("it does not match the anchor that signed it"))
        self.head = Head(line.chain, line.seq, line.hash)
        return line

    def take_all(self, records: Iterable[LedgerRecord]) -> tuple[list[Line], BrokenLedger | None]:
        """Return the good records before the first broken one, and the flaw of that one."""
        lines: list[Line] = []
        try:
            for record in records:
                lines.append(self.take(record))  # noqa: PERF401  keeps the lines before an error
        except BrokenLedger as broken:
            return lines, broken
        return lines, None

    def finish(self) -> None:
        """Raise BrokenLedger if a record that an anchor signed was not among the records."""
        self._end_chain()
        for chain, heads in sorted(self._to_come.items()):
            raise _gone(chain, min(heads))

    def _begin_chain(self, chain: str) -> None:
        self.chains += 1
        self.head = Head(chain)
        self._here = self._to_come.pop(chain, {})
        self._anchored_to = max(self._here, default=0)

    def _end_chain(self) -> None:
        for seq in sorted(self._here):
            raise _gone(self.head.chain, seq)


def _gone(chain: str, seq: int) -> BrokenLedger:
    return BrokenLedger(f"{chain} {seq}", _("an anchor names this record, but it is missing"))


def checked_link(record: LedgerRecord, head: Head) -> Line:
    """Check a record in itself and against the head before it. Raises BrokenLedger."""
    where = f"{record.chain} {record.seq}"
    if hashlib.sha256(record.body.encode()).hexdigest() != record.hash:
        raise BrokenLedger(where, _("its body does not match its hash"))
    try:
        body = json.loads(record.body)
        columns = _as_columns(body)
        line = Line(
            body["chain"], body["seq"], record.hash, body["kind"], body["subject"], body["facts"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenLedger(where, _("its body is not a ledger record")) from error
    if columns != _columns(record):
        raise BrokenLedger(where, _("its columns do not match its body"))
    if (body["v"], body["seq"], body["prev"]) != (VERSION, head.seq + 1, head.hash):
        raise BrokenLedger(where, _("it does not follow record %(seq)d") % {"seq": head.seq})
    return line


def _as_columns(body: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(body[name] for name in ("chain", "seq", "kind", "subject", "actor", "at"))


def _columns(record: LedgerRecord) -> tuple[Any, ...]:
    at = iso_moment(record.at)
    return (record.chain, record.seq, record.kind, record.subject, record.actor, at)
