"""Every case in docs/cases*.md is named by a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
LISTS = sorted((HERE.parent / "docs").glob("cases*.md"))


def listed() -> set[str]:
    """Return the ids in the first column of the lists."""
    lines = "\n".join(file.read_text() for file in LISTS)
    return set(re.findall(r"^\| (\S+) \|", lines, re.MULTILINE)) - {"id", "---"}


def proved() -> set[str]:
    """Return the ids in the marks of tests."""
    return {case for path in sorted(HERE.rglob("test_*.py")) for case in _marked_in(path)}


def _marked_in(path: Path) -> set[str]:
    return {
        argument.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "case"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def test_each_listed_case_is_proved_by_a_test() -> None:
    assert sorted(listed() - proved()) == []


def test_each_proved_case_is_listed() -> None:
    assert sorted(proved() - listed()) == []
