"""Read JSON from outside. Nesting is limited to 200 levels, on every version of Python.

Python's own limit depends on its version and on the caller's stack. Beyond it ``json`` raises
RecursionError, which callers that expect ValueError do not catch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

DEEPEST = 200
"""Levels of nested lists and objects."""


class TooDeep(ValueError):
    """Lists and objects are nested deeper than ``DEEPEST`` levels."""

    def __init__(self) -> None:
        super().__init__("nested too deeply")


def read_json(
    text: str | bytes,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], object] | None = None,
    parse_constant: Callable[[str], object] | None = None,
) -> Any:  # noqa: ANN401 -- JSON
    """Read JSON as ``json.loads`` does. Raises ValueError if it is not JSON or nested too deeply."""
    try:
        value = json.loads(text, object_pairs_hook=object_pairs_hook, parse_constant=parse_constant)  # noqa: TID251  the one place
    except RecursionError as error:
        raise TooDeep from error
    if _may_be_deep(text) and _is_deep(value):
        raise TooDeep
    return value


def read_json_strictly(raw: bytes) -> Any:  # noqa: ANN401 -- JSON
    """Read JSON in UTF-8. Reject NaN, Infinity and duplicate keys as well. Raises ValueError."""
    return read_json(raw.decode(), object_pairs_hook=_once, parse_constant=_no_constant)


def is_json(text: str) -> bool:
    """Whether a text is JSON that is not nested too deeply."""
    try:
        read_json(text)
    except ValueError:
        return False
    return True


class JsonDecoder(json.JSONDecoder):
    """``read_json`` for libraries that take a decoder class."""

    def decode(self, s: str) -> Any:  # type: ignore[override]  # noqa: ANN401 -- JSON  # noqa: ANN401 -- JSON
        try:
            return read_json(s)
        except TooDeep as error:
            raise json.JSONDecodeError(str(error), s, 0) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name appears twice in one object")
    return members


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _may_be_deep(text: str | bytes) -> bool:
    """Return quickly, nearly always False: a text with few brackets cannot be deep."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{") > DEEPEST
    return text.count("[") + text.count("{") > DEEPEST


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
