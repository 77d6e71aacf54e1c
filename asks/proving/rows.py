"""What the ledger tells and what the tables hold is the same, in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet

from asks import ledger_facts
from asks.models import Ask, Refusal, Verdict
from asks.plain import plain
from asks.proving.broken import BrokenLedger
from asks.proving.links import Line

Facts = dict[str, Any]


def _verdicts(ids: Iterable[int]) -> QuerySet[Verdict]:
    found = Verdict.objects.filter(pk__in=ids).select_related("option", "ask__gate")
    return found.prefetch_related("ask__options")


def _refusals(ids: Iterable[int]) -> QuerySet[Refusal]:
    return Refusal.objects.filter(pk__in=ids)


def _asks(ids: Iterable[int]) -> QuerySet[Ask]:
    return Ask.objects.filter(pk__in=ids).select_related("gate").prefetch_related("options")


#: Kind -> the rows it tells of, and the facts they give.
_TOLD: Mapping[str, tuple[Callable[[Iterable[int]], QuerySet[Any]], Callable[[Any], Facts]]] = {
    "verdict": (_verdicts, ledger_facts.of_verdict),
    "refusal": (_refusals, ledger_facts.of_refusal),
    "withdrawn": (_asks, ledger_facts.of_closing),
    "expired": (_asks, ledger_facts.of_closing),
    "superseded": (_asks, ledger_facts.of_closing),
    "imported": (_asks, ledger_facts.of_import),
}

#: What has no record: rows that were written past the ledger, or whose record was taken away.
_UNRECORDED = {
    "verdict": """
SELECT v.id FROM asks_verdict v WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'verdict' AND r.subject = 'verdict:' || v.id)
ORDER BY v.id LIMIT 1""",
    "refusal": """
SELECT f.id FROM asks_refusal f WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'refusal' AND r.subject = 'refusal:' || f.id)
ORDER BY f.id LIMIT 1""",
    "closed ask": """
SELECT a.id FROM asks_ask a WHERE a.status NOT IN ('open', 'answered') AND NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.subject = 'ask:' || a.id
  AND (r.kind = a.status OR r.kind = 'imported' AND a.status = 'withdrawn'))
ORDER BY a.id LIMIT 1""",
    "answered ask": """
SELECT a.id FROM asks_ask a WHERE a.status = 'answered'
AND NOT EXISTS (SELECT FROM asks_verdict v WHERE v.ask_id = a.id)
ORDER BY a.id LIMIT 1""",
}


def compare(lines: Iterable[Line]) -> None:
    """Hold lines, in their order, against the rows they tell of. Raises BrokenLedger."""
    lines = [line for line in lines if line.kind in _TOLD]
    rows = {kind: _rows(kind, lines) for kind in {line.kind for line in lines}}
    for line in lines:
        row = rows[line.kind].get(_id(line))
        if row is None:
            raise line.broken(f"{line.subject} is gone")
        _compare(line, _TOLD[line.kind][1](row))


def _rows(kind: str, lines: Iterable[Line]) -> dict[int, Model]:
    ids = [_id(line) for line in lines if line.kind == kind]
    return {row.pk: row for row in _TOLD[kind][0](ids)}


def _id(line: Line) -> int:
    number = line.subject.partition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else 0


def _compare(line: Line, now: Facts) -> None:
    """Facts that the rows do not give, such as how long it waited, are only in the ledger."""
    then = {part: line.facts.get(part) for part in now}
    # The plain form costs most of the time and is the same already in nearly every record.
    if _text(then) == _text(now):
        return
    if difference := _difference(plain(then), plain(now)):
        raise line.broken(f"{line.subject} now says otherwise: {difference}")


def _difference(then: Any, now: Any, name: str = "") -> str:
    """The name of the first part that differs, such as ``verdict.text``; empty when none does."""
    if _text(then) == _text(now):
        return ""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            if inner := _difference(then.get(key), now.get(key), f"{name}.{key}".lstrip(".")):
                return inner
    return name or "all of it"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def find_unrecorded() -> None:
    """Rows without a record. Raises BrokenLedger."""
    for what, statement in _UNRECORDED.items():
        with connection.cursor() as cursor:
            cursor.execute(statement)
            found = cursor.fetchone()
        if found:
            raise BrokenLedger(f"{what} {found[0]}", "the ledger has no record of it")
