"""The arguments of a call as table rows: nested values indented, changes signed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import ngettext

from agents.text.json_input import is_json
from workspace.pages.cards import blocks
from workspace.pages.cards.blocks import ValueBlock
from workspace.text.line_ends import mark_line_ends

MOST_ROWS = 150
"""Above this number only top-level values have rows; nested ones are shown as JSON."""
_GONE = object()


class _Words(str):
    """A value as it is read already."""

    __slots__ = ()


@dataclass(frozen=True)
class CallRow:
    """One value of a call.

    `sign` is "-" for what was asked before, "+" for what replaced it, and "±" for a block that shows
    both. `depth` counts the names around it; a row of a list or an object says only how much is in
    it, and `is_group`. `block` shows a value as what it is, such as code.
    """

    sign: str
    name: str
    value: str
    path: str = ""
    depth: int = 0
    is_group: bool = False
    block: ValueBlock | None = None


def rows_of(now: object, was: object = _GONE) -> list[CallRow]:
    """Return the rows of a call's params, compared with those of the call it replaced, if any."""
    present = _named(_marked(now))
    before = present if was is _GONE else _named(_marked(was))
    if _size(present) + _size(before) > MOST_ROWS * 2:
        present, before = _read_out(present), _read_out(before)
    return list(_members(present, before, "", 0, {}))


def _marked(value: object) -> object:
    """Return a value in which the white space at the ends of lines can be seen."""
    if isinstance(value, str):
        return mark_line_ends(value)
    if isinstance(value, dict):
        return {name: _marked(inner) for name, inner in value.items()}
    return [_marked(inner) for inner in value] if isinstance(value, list) else value


def value_in_words(value: object) -> str:
    """Format a value: plain text bare, everything else, and text that looks like JSON, as JSON.

    So is text of one line with white space around it, which nobody would see otherwise.
    """
    if isinstance(value, _Words):
        return str(value)
    if isinstance(value, str) and _is_plain(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Whether a text can be read without quotes: line breaks at its end are shown beside it."""
    body = text.rstrip("\n")
    return bool(body.strip()) and ("\n" in body or body.strip() == body) and not is_json(text)


def _named(params: object) -> dict[str, Any]:
    """Return the params by name; params that are not an object become one value."""
    return params if isinstance(params, dict) else {"value": params}


def _read_out(params: dict[str, Any]) -> dict[str, Any]:
    return {name: _Words(value_in_words(value)) for name, value in params.items()}


def _size(value: object) -> int:
    """Count a value's rows, stopping as soon as there are too many."""
    found, waiting = 0, [value]
    while waiting and found <= MOST_ROWS * 2:
        found += 1
        waiting.extend(inner for _, inner in _inside(waiting.pop()))
    return found


def _inside(value: object) -> Sequence[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return [(f"[{n}]", one) for n, one in enumerate(value)] if isinstance(value, list) else []


def _members(
    now: dict[str, Any], was: dict[str, Any], path: str, depth: int, outer: dict[str, Any]
) -> Iterator[CallRow]:
    """Yield the rows of an object; ``outer`` are the values around it, which may name a file."""
    pairs, around = dict(_unmoved_pairs(now, was)), {**outer, **now}
    for name in [*now, *(name for name in was if name not in now)]:
        if name in pairs:
            block = blocks.pair_block(now[name], now[pairs[name]], around)
            title = f"{name} → {pairs[name]}"
            yield CallRow("", title, "", f"{path}/{name}", depth, block=block)
        elif name not in pairs.values():
            here = f"{path}/{name}"
            yield from _pair(name, now.get(name, _GONE), was.get(name, _GONE), here, depth, around)


def _unmoved_pairs(now: dict[str, Any], was: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of arguments that were not changed since they were asked before."""
    taken: set[str] = set()
    for pair in blocks.pairs_in(now):
        same = all(was.get(name, _GONE) == now[name] for name in pair)
        if (not was or was is now or same) and not taken & set(pair):
            taken |= set(pair)
            yield pair


def _pair(
    name: str, now: object, was: object, path: str, depth: int, around: dict[str, Any]
) -> Iterator[CallRow]:
    change = blocks.change_of(was, now, name, around) if now != was else None
    if change is not None:
        yield CallRow("±", name, "", path, depth, block=change)
    elif _inside(now) and _inside(was) and type(now) is type(was):
        yield CallRow("", name, _count(now), path, depth, is_group=True)
        yield from _members(dict(_inside(now)), dict(_inside(was)), path, depth + 1, around)
    elif now is not _GONE and was is not _GONE and value_in_words(now) == value_in_words(was):
        block = blocks.block_of(name, now, around)
        yield CallRow("", name, value_in_words(now), path, depth, block=block)
    else:
        if was is not _GONE:
            yield from _one("-", name, was, path, depth)
        if now is not _GONE:
            yield from _one("+", name, now, path, depth)


def _one(sign: str, name: str, value: object, path: str, depth: int) -> Iterator[CallRow]:
    """Yield the rows of a value that only one side has."""
    inside = _inside(value)
    if not inside:
        block = blocks.block_of(name, value, {})
        yield CallRow(sign, name, value_in_words(value), path, depth, block=block)
        return
    yield CallRow(sign, name, _count(value), path, depth, is_group=True)
    for inner, part in inside:
        yield from _one(sign, inner, part, f"{path}/{inner}", depth + 1)


def _count(value: object) -> str:
    number = len(_inside(value))
    if isinstance(value, dict):
        return ngettext("{count} value", "{count} values", number).format(count=number)
    return ngettext("{count} item", "{count} items", number).format(count=number)
