"""JSON that came from outside: the same is taken on every Python, and nothing is nested without end.

Python's own reader stops at a depth that differs from version to version and from caller to caller,
with a RecursionError, which is no ValueError and easily forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

DEEPEST = 200
"""Lists and objects inside each other."""


class TooDeep(ValueError):
    """More lists and objects inside each other than ``DEEPEST``."""

    def __init__(self) -> None:
        super().__init__("nested too deeply")


def read_json(
    text: str | bytes,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], object] | None = None,
    parse_constant: Callable[[str], object] | None = None,
) -> Any:  # noqa: ANN401 -- JSON
    """What ``json.loads`` reads. Raises ValueError for whatever is no JSON or too deep."""
    try:
        found = json.loads(text, object_pairs_hook=object_pairs_hook, parse_constant=parse_constant)  # noqa: TID251  the one place
    except RecursionError as error:
        raise TooDeep from error
    if _may_be_deep(text) and _is_deep(found):
        raise TooDeep
    return found


def read_json_strictly(raw: bytes) -> Any:  # noqa: ANN401 -- JSON
    """The same of UTF-8 alone, without NaN and Infinity, and with no name twice in one object: which
    one counts would be a guess."""
    return read_json(raw.decode(), object_pairs_hook=_once, parse_constant=_no_constant)


def is_json(text: str) -> bool:
    try:
        read_json(text)
    except ValueError:
        return False
    return True


class JsonDecoder(json.JSONDecoder):
    """For those who take a class: what is too deep is no JSON."""

    def decode(self, s: str) -> Any:  # type: ignore[override]  # noqa: ANN401 -- JSON  # noqa: ANN401 -- JSON
        try:
            return read_json(s)
        except TooDeep as error:
            raise json.JSONDecodeError(str(error), s, 0) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name appears twice in one object")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _may_be_deep(text: str | bytes) -> bool:
    """Quick, and nearly always no: who opens little is not deep."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{") > DEEPEST
    return text.count("[") + text.count("{") > DEEPEST


def _is_deep(found: object) -> bool:
    level = [found]
    for _ in range(DEEPEST + 1):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
