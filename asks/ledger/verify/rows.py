"""Compare the ledger with the tables, in both directions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import LiteralString

from django.db import DataError, connection, transaction
from django.utils.translation import gettext as _

from agents.text.canonical_json import Json, as_plain_json
from asks.ledger.record_facts import EXTRAS, FACT_SOURCES, UNRECORDED, facts_of_all
from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.links import Line

#: PostgreSQL compares a whole batch; ``_compare`` then examines only the rows that it reports. A number
#: too large for canonical JSON, for example, is a string in the record and differs only to PostgreSQL.
_DIFFERENT: LiteralString = """
SELECT r.hash FROM asks_ledgerrecord r LEFT JOIN ({facts}) f ON f.id = split_part(r.subject, ':', 2)::bigint
WHERE r.hash = ANY(%s) AND (r.body::jsonb -> 'facts') - %s::text[] IS DISTINCT FROM f.facts
"""


def compare_rows(lines: Iterable[Line]) -> None:
    """Compare lines, in order, with the rows that they describe. Raises BrokenLedger."""
    suspects = []
    for kind, of_kind in _by_kind(lines).items():
        different = _different(kind, of_kind)
        suspects += [line for line in of_kind if line.hash in different]
    for line in sorted(suspects, key=lambda line: (line.chain, line.seq)):
        _compare(line)


def _by_kind(lines: Iterable[Line]) -> dict[str, list[Line]]:
    by_kind = defaultdict(list)
    for line in lines:
        if line.kind in FACT_SOURCES:
            by_kind[line.kind].append(line)
    return by_kind


def _different(kind: str, lines: list[Line]) -> set[str]:
    """Return the hashes of the lines that differ in PostgreSQL; all of them if it cannot compare."""
    hashes = [line.hash for line in lines]
    query = _DIFFERENT.format(facts=FACT_SOURCES[kind].query)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(query, [[_id(line) for line in lines], hashes, EXTRAS])
            return {row[0] for row in cursor.fetchall()}
    except DataError:
        return set(hashes)


def _id(line: Line) -> int:
    """Return the id in a subject such as ``verdict:12``; 0, which no row has, if it is malformed."""
    name, _colon, number = line.subject.partition(":")
    good = name == FACT_SOURCES[line.kind].subject and number.isascii() and number.isdigit()
    return int(number) if good and len(number) < 19 else 0


def _compare(line: Line) -> None:
    now = facts_of_all(line.kind, [_id(line)]).get(_id(line))
    if now is None:
        raise line.broken(_("%(subject)s is missing") % {"subject": line.subject})
    then = {part: line.facts.get(part) for part in now}
    if difference := _difference(as_plain_json(then), as_plain_json(now)):
        text = _("%(subject)s has changed since: %(difference)s")
        raise line.broken(text % {"subject": line.subject, "difference": difference})


def _difference(then: Json, now: Json, name: str = "") -> str:
    """Return the first part that differs, such as ``verdict.text``; empty if none does."""
    if json.dumps(then, sort_keys=True) == json.dumps(now, sort_keys=True):
        return ""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            if inner := _difference(then.get(key), now.get(key), f"{name}.{key}".lstrip(".")):
                return inner
    return name or _("everything")


def find_unrecorded() -> None:
    """Raise BrokenLedger for the first row without a record."""
    for what, statement in UNRECORDED.items():
        with connection.cursor() as cursor:
            cursor.execute(statement)
            row = cursor.fetchone()
        if row:
            raise BrokenLedger(f"{what} {row[0]}", _("the ledger has no record of it"))
