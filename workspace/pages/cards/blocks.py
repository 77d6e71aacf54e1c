"""Values of a call shown as what they are: a change, a patch, JSON, code.

Every character of a value is on the card. What is long is folded, as `<details data-fold>`: an
approval counts once all of it was shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.text.canonical_json import Json
from workspace.text.highlight import coloured_lines, language_of, line_html, name_of
from workspace.text.json_layout import laid_out
from workspace.text.line_diff import Hunk, LineGroup, compare_texts, is_patch, read_patch
from workspace.text.visible import fold_blank_lines, visible

OPEN_LINES = 40
"""Lines of a block that are shown at once; the others are folded."""
LONG_LINE = 80
ALIKE = 3
"""One of this many lines is the same in `from` and `to` if they are a change and not a way."""

_PAIRS = (
    *(("old", "new"), ("before", "after"), ("original", "replacement"), ("original", "modified")),
    *(("original", "updated"), ("original", "new"), ("previous", "next"), ("previous", "current")),
    *(("current", "proposed"), ("find", "replace"), ("search", "replace"), ("find", "replacement")),
    *(("search", "replacement"), ("from", "to")),
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_PATHS = ("path", "file", "filename", "file_path", "filepath", "file_name", "target_file", "uri")
_LANGUAGES = ("language", "lang", "syntax", "interpreter", "shell")


@dataclass(frozen=True)
class BlockPart:
    """A part of a block: a hunk of a change. It is open or folded behind its title."""

    groups: tuple[LineGroup, ...]
    title: str
    is_open: bool
    is_bare: bool = False


@dataclass(frozen=True)
class ValueBlock:
    """A value as a block: what it is, how long, and its parts in their order."""

    what: str
    size: str
    folds: tuple[BlockPart, ...]
    is_change: bool = False


def block_of(name: str, value: Json, siblings: Mapping[str, Json]) -> ValueBlock | None:
    """Return a text as a patch, as JSON or as code; None if it is none of these."""
    if not isinstance(value, str) or len(value) < 3:
        return None
    if is_patch(value):
        return _change(_("patch"), read_patch(value))
    pretty = laid_out(value)
    if pretty is not None:
        return _code(_("JSON, laid out"), pretty, "json")
    if "\n" not in value.strip():
        return None
    language = language_of(_named_language(siblings) or name, _path(siblings), value)
    return _code(name_of(language), value, language) if language else None


def change_of(
    before: Json, now: Json, name: str, siblings: Mapping[str, Json]
) -> ValueBlock | None:
    """Return what changes from one value to another; None if rows say it better."""
    if isinstance(before, str) and isinstance(now, str):
        if not _is_long(before) and not _is_long(now):
            return None
        language = language_of(_named_language(siblings) or name, _path(siblings), now or before)
        return _change(_("change"), compare_texts(before, now, language))
    return None


def pairs_in(params: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the names of two arguments that are one change: ``old_string`` and ``new_string``."""
    by_words = {tuple(_words(name)): name for name in reversed(list(params))}
    for name in params:
        words = _words(name)
        for first, second in _PAIRS:
            if first not in words:
                continue
            other = by_words.get(tuple(second if word == first else word for word in words))
            if other is not None and _is_a_change(first, params[name], params[other]):
                yield name, other
                break


def pair_block(before: Json, now: Json, siblings: Mapping[str, Json]) -> ValueBlock:
    """Return the change that a pair of arguments is."""
    if isinstance(before, str) and isinstance(now, str):
        language = language_of(_named_language(siblings), _path(siblings), now or before)
        return _change(_("change"), compare_texts(before, now, language))
    old, new = (json.dumps(value, ensure_ascii=False, indent=2) for value in (before, now))
    return _change(_("change of JSON"), compare_texts(old, new, "json"))


def _is_a_change(first: str, before: Json, now: Json) -> bool:
    if isinstance(before, str) and isinstance(now, str):
        return first != "from" or _is_alike(before, now)
    return isinstance(before, dict | list) and type(before) is type(now)


def _is_alike(before: str, now: str) -> bool:
    """Whether two texts are versions of one: accounts, places and people that differ are not."""
    old, new = set(before.splitlines()), set(now.splitlines())
    return len(old & new) * ALIKE >= max(len(old), len(new)) > 1


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(name)]


def _path(siblings: Mapping[str, Json]) -> str:
    found = (value for name, value in siblings.items() if name.casefold() in _PATHS)
    return next((value for value in found if isinstance(value, str)), "")


def _named_language(siblings: Mapping[str, Json]) -> str:
    found = (value for name, value in siblings.items() if name.casefold() in _LANGUAGES)
    return next((value for value in found if isinstance(value, str)), "")


def _is_long(text: str) -> bool:
    return "\n" in text.strip() or len(text) > LONG_LINE


def _change(what: str, hunks: tuple[Hunk, ...]) -> ValueBlock:
    added = sum(len(group.new) for hunk in hunks for group in hunk.groups)
    removed = sum(len(group.old) for hunk in hunks for group in hunk.groups)
    gone = ngettext("{count} line removed", "{count} lines removed", removed).format(count=removed)
    more = ngettext("{count} line added", "{count} lines added", added).format(count=added)
    return ValueBlock(what, f"{gone}, {more}", tuple(_folds(hunks)), is_change=True)


def _folds(hunks: tuple[Hunk, ...]) -> Iterator[BlockPart]:
    """BlockPart what did not change, and the hunks that come after the first lines."""
    shown, number = 0, 0
    for hunk in hunks:
        if hunk.is_same:
            count = ngettext("{count} unchanged line", "{count} unchanged lines", hunk.size)
            yield BlockPart(hunk.groups, count.format(count=hunk.size), is_open=False)
            continue
        number += 1
        shown += hunk.size
        is_open = shown <= OPEN_LINES or (number == 1 and hunk.size <= 2 * OPEN_LINES)
        title = visible(hunk.title)
        if not is_open:
            lines = ngettext("{count} line", "{count} lines", hunk.size).format(count=hunk.size)
            title = f"{title} ({lines})" if title else lines
        yield BlockPart(hunk.groups, title, is_open=is_open, is_bare=is_open and not hunk.title)


@lru_cache(maxsize=64)
def _code(what: str, text: str, language: str) -> ValueBlock:
    body = fold_blank_lines(visible(text))
    lines = [line_html(line) for line in coloured_lines(body, language)]
    if lines and not lines[-1]:
        lines.pop()
    number = len(text.splitlines())
    count = ngettext("{count} line", "{count} lines", number).format(count=number)
    if not text.endswith("\n") and language != "json":
        count = f"{count}, {_('no line break at the end')}"
    rest = len(lines) - OPEN_LINES
    folds = [
        BlockPart((LineGroup(same=tuple(lines[:OPEN_LINES])),), "", is_open=True, is_bare=True)
    ]
    if rest > 0:
        more = ngettext("{count} more line", "{count} more lines", rest).format(count=rest)
        folds.append(BlockPart((LineGroup(same=tuple(lines[OPEN_LINES:])),), more, is_open=False))
    return ValueBlock(what, count, tuple(folds))
