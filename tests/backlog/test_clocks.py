"""Every time that something depends on is the database's: no machine's own clock is asked."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FILES = sorted(
    path
    for layer in ("agents", "asks")
    for path in (PROJECT / layer).rglob("*.py")
    if "migrations" not in path.parts
)
#: A machine's own clock, however it is called.
CLOCKS = {("timezone", "now"), ("datetime", "now"), ("datetime", "utcnow"), ("time", "time")}


def machine_clocks(source: str) -> list[str]:
    return [
        f"line {node.lineno}: {node.value.id}.{node.attr}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in CLOCKS
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_no_deadline_lease_or_record_asks_the_machine(path: Path) -> None:
    assert machine_clocks(path.read_text()) == []


def test_the_test_itself_sees_them() -> None:
    assert machine_clocks("from django.utils import timezone\ntimezone.now()") == [
        "line 2: timezone.now"
    ]
