"""What the ledger tells and what the tables hold is the same, in both directions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import LiteralString

from django.db import DataError, connection, transaction

from agents.text.canonical_json import Json, as_plain_json
from asks.ledger.record_facts import EXTRAS, TOLD, UNRECORDED, facts_of_all
from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.links import Line

#: PostgreSQL compares a batch by itself; what it calls different is then looked at here. A number
#: too large for canonical JSON, say, is a text in the record and different to PostgreSQL only.
_DIFFERENT: LiteralString = """
SELECT r.hash FROM asks_ledgerrecord r LEFT JOIN ({facts}) f ON f.id = split_part(r.subject, ':', 2)::bigint
WHERE r.hash = ANY(%s) AND (r.body::jsonb -> 'facts') - %s::text[] IS DISTINCT FROM f.facts
"""


def compare_rows(lines: Iterable[Line]) -> None:
    """Hold lines, in their order, against the rows they tell of. Raises BrokenLedger."""
    suspects = []
    for kind, told in _by_kind(lines).items():
        different = _different(kind, told)
        suspects += [line for line in told if line.hash in different]
    for line in sorted(suspects, key=lambda line: (line.chain, line.seq)):
        _compare(line)


def _by_kind(lines: Iterable[Line]) -> dict[str, list[Line]]:
    told = defaultdict(list)
    for line in lines:
        if line.kind in TOLD:
            told[line.kind].append(line)
    return told


def _different(kind: str, lines: list[Line]) -> set[str]:
    """The hashes of the lines that PostgreSQL finds different; all of them if it cannot say."""
    hashes = [line.hash for line in lines]
    query = _DIFFERENT.format(facts=TOLD[kind].query)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(query, [[_id(line) for line in lines], hashes, EXTRAS])
            return {row[0] for row in cursor.fetchall()}
    except DataError:
        return set(hashes)


def _id(line: Line) -> int:
    """The id in a subject such as ``verdict:12``. 0, which is no row's, for any other subject."""
    name, _, number = line.subject.partition(":")
    good = name == TOLD[line.kind].subject and number.isascii() and number.isdigit()
    return int(number) if good and len(number) < 19 else 0


def _compare(line: Line) -> None:
    now = facts_of_all(line.kind, [_id(line)]).get(_id(line))
    if now is None:
        raise line.broken(f"{line.subject} is gone")
    then = {part: line.facts.get(part) for part in now}
    if difference := _difference(as_plain_json(then), as_plain_json(now)):
        raise line.broken(f"{line.subject} now says otherwise: {difference}")


def _difference(then: Json, now: Json, name: str = "") -> str:
    """The name of the first part that differs, such as ``verdict.text``; empty when none does."""
    if json.dumps(then, sort_keys=True) == json.dumps(now, sort_keys=True):
        return ""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            if inner := _difference(then.get(key), now.get(key), f"{name}.{key}".lstrip(".")):
                return inner
    return name or "all of it"


def find_unrecorded() -> None:
    """Rows without a record. Raises BrokenLedger."""
    for what, statement in UNRECORDED.items():
        with connection.cursor() as cursor:
            cursor.execute(statement)
            found = cursor.fetchone()
        if found:
            raise BrokenLedger(f"{what} {found[0]}", "the ledger has no record of it")
