"""Write JSON as a person would: one line for each value, what is inside indented."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from agents.text.canonical_json import Json

DEEPEST = 12
"""Levels that are indented. What is nested deeper is written as JSON."""


def outline(values: Mapping[str, Json]) -> str:
    """Return a list of names and values, such as ``- force: true``."""
    return "\n".join(_lines(values, 0))


def write_value(value: Json) -> str:
    """Return a text as it is, a list or an object as an outline, and anything else as JSON."""
    if isinstance(value, dict) and value:
        return outline(value)
    if isinstance(value, list) and value:
        return "\n".join(line for one in value for line in _entry("-", one, 0))
    return _written(value)


def _lines(values: Mapping[str, Json], depth: int) -> Iterator[str]:
    for name, value in values.items():
        yield from _entry(f"{'  ' * depth}- {name}:", value, depth)


def _entry(start: str, value: Json, depth: int) -> Iterator[str]:
    if depth < DEEPEST and isinstance(value, dict) and value:
        yield start
        yield from _lines(value, depth + 1)
    elif depth < DEEPEST and isinstance(value, list) and value:
        yield start
        for one in value:
            yield from _entry(f"{'  ' * (depth + 1)}-", one, depth + 1)
    else:
        yield f"{start} {_written(value)}"


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
