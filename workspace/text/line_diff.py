"""Differences of texts as people read them: hunks of lines, with what did not change folded away.

Two texts are compared here; a patch in the unified format is only read. Every line of either is
shown somewhere, exactly as it is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from workspace.text.highlight import Line, TextRun, coloured_lines, language_of, line_html, text_of
from workspace.text.visible import visible

CONTEXT = 3
"""Unchanged lines shown around a change."""
MOST_COMPARED = 400_000
"""Pairs of lines. Larger texts are shown one after the other: comparing takes time by their product."""
MOST_MARKED = 40
"""Lines of a change in which the changed words are emphasised."""

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FILE = re.compile(r"(?:diff --git |Index: |--- |\+\+\+ )")
_NEW_FILE = re.compile(r"(?:\+\+\+ (?:b/)?|\*\*\* (?:Update|Add) File: )([^\t\n]+)")
_SIGNS = ("+", "-", " ", "")
_OWN_FORMAT = "*** Begin Patch"


@dataclass(frozen=True)
class LineGroup:
    """Lines of HTML that go together: unchanged ones, or the old and the new ones of a change."""

    same: tuple[SafeString, ...] = ()
    old: tuple[SafeString, ...] = ()
    new: tuple[SafeString, ...] = ()
    note: tuple[SafeString, ...] = ()

    @property
    def size(self) -> int:
        return len(self.same) + len(self.old) + len(self.new) + len(self.note)


@dataclass(frozen=True)
class Hunk:
    """A stretch of a difference; ``title`` is the patch's own line about it.

    ``is_same`` means that nothing changed in it.
    """

    groups: tuple[LineGroup, ...]
    title: str = ""
    is_same: bool = False

    @property
    def size(self) -> int:
        return sum(group.size for group in self.groups)


def is_patch(text: str) -> bool:
    """Whether a text is a patch: in the unified format, or in the one of ``apply_patch``."""
    if text.startswith(_OWN_FORMAT):
        return True
    lines = text.splitlines()[:400]
    return any(
        _HUNK.match(line) and any(_FILE.match(before) for before in lines[:at])
        for at, line in enumerate(lines)
    )


@lru_cache(maxsize=64)
def compare_texts(before: str, now: str, language: str = "") -> tuple[Hunk, ...]:
    """Return the hunks that lead from one text to another."""
    old, new = (list(coloured_lines(visible(text), language)) for text in (before, now))
    for lines in (old, new):
        if lines and not lines[-1]:
            lines.pop()  # what stands after the last line break
    groups = list(_compared(old, new))
    end = _line_break_at_the_end(before, now)
    return tuple(_hunks(groups + ([end] if end else [])))


@lru_cache(maxsize=64)
def read_patch(text: str) -> tuple[Hunk, ...]:
    """Return the hunks of a patch; what stands outside of them is unchanged text with its own hunk."""
    return tuple(_sections(visible(text).split("\n"), lenient=text.startswith(_OWN_FORMAT)))


def _compared(old: list[Line], new: list[Line]) -> Iterator[tuple[str, list[Line], list[Line]]]:
    """Yield stretches: ``equal``, or anything else for a change, with their old and new lines."""
    if len(old) * len(new) > MOST_COMPARED:
        yield "replace", old, new
        return
    before, now = ([text_of(line) for line in lines] for lines in (old, new))
    matcher = difflib.SequenceMatcher(None, before, now)
    for what, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        yield what, old[a_from:a_to], new[b_from:b_to]


def _line_break_at_the_end(before: str, now: str) -> tuple[str, list[Line], list[Line]] | None:
    """Return a change of nothing but the line break at the end, which no line shows."""
    had, has = before.endswith("\n"), now.endswith("\n")
    if had == has or not before or not now:
        return None
    words = (
        _("The line break at the end is new.") if has else _("The line break at the end is gone.")
    )
    return ("note", [(TextRun(words),)], [])


def _hunks(stretches: list[tuple[str, list[Line], list[Line]]]) -> Iterator[Hunk]:
    """Fold what is unchanged, except for a few lines beside each change."""
    shown: list[LineGroup] = []
    last = len(stretches) - 1
    for at, (what, old, new) in enumerate(stretches):
        if what != "equal":
            shown.append(_note(old) if what == "note" else _changed(old, new))
            continue
        head = CONTEXT if at else 0
        tail = CONTEXT if at < last else 0
        if len(new) <= head + tail + 1:
            shown.append(LineGroup(same=_html(new)))
            continue
        if head:
            shown.append(LineGroup(same=_html(new[:head])))
        if shown:
            yield Hunk(tuple(shown))
        yield Hunk((LineGroup(same=_html(new[head : len(new) - tail])),), is_same=True)
        shown = [LineGroup(same=_html(new[len(new) - tail :]))] if tail else []
    if shown:
        yield Hunk(tuple(shown))


def _note(lines: list[Line]) -> LineGroup:
    return LineGroup(note=tuple(line_html(line) for line in lines))


def _html(lines: Sequence[Line]) -> tuple[SafeString, ...]:
    return tuple(line_html(line) for line in lines)


def _changed(old: Sequence[Line], new: Sequence[Line]) -> LineGroup:
    """Return a change; in lines that correspond, what differs is emphasised."""
    if len(old) != len(new) or len(old) > MOST_MARKED:
        return LineGroup(old=_html(old), new=_html(new))
    marked = [_marked(before, now) for before, now in zip(old, new, strict=True)]
    return LineGroup(old=tuple(pair[0] for pair in marked), new=tuple(pair[1] for pair in marked))


def _marked(old: Line, new: Line) -> tuple[SafeString, SafeString]:
    before, now = text_of(old), text_of(new)
    start = _common(before, now)
    end = _common(before[start:][::-1], now[start:][::-1])
    if (start + end) * 3 < max(len(before), len(now)):
        return line_html(old), line_html(new)
    return line_html(old, (start, len(before) - end)), line_html(new, (start, len(now) - end))


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _sections(lines: list[str], *, lenient: bool) -> Iterator[Hunk]:
    """Read a patch line by line. A hunk is as long as its head says, and not a line longer."""
    around: list[str] = []
    language, at = "", 0
    while at < len(lines):
        found = _NEW_FILE.match(lines[at])
        if found:
            language = language_of("", found[1].strip(), "")
        length = _own_length(lines, at) if lenient else _length(lines, at)
        if length:
            yield from _outside(around)
            around = []
            yield Hunk(tuple(_grouped(lines[at + 1 : at + length], language)), title=lines[at])
        else:
            around.append(lines[at])
        at += length or 1
    yield from _outside(around)


def _outside(lines: list[str]) -> Iterator[Hunk]:
    """Yield the lines outside of hunks, if there are any to see."""
    if any(lines):
        yield Hunk((LineGroup(same=_html([(TextRun(line),) for line in lines])),))


def _length(lines: list[str], at: int) -> int:
    """Return how many lines the hunk has that starts here, with its head; 0 if none does."""
    head = _HUNK.match(lines[at])
    if head is None:
        return 0
    old, new, length = int(head[1] or 1), int(head[2] or 1), 1
    for line in lines[at + 1 :]:
        is_note = line[:1] == "\\"
        if not is_note and ((old <= 0 and new <= 0) or line[:1] not in _SIGNS):
            break
        old -= not is_note and line[:1] != "+"
        new -= not is_note and line[:1] != "-"
        length += 1
    return length


def _own_length(lines: list[str], at: int) -> int:
    """Return the same for the format of ``apply_patch``, whose hunks have no lengths."""
    if not lines[at].startswith(("@@", "*** Update File", "*** Add File")):
        return 0
    rest = enumerate(lines[at + 1 :], 1)
    return next((number for number, line in rest if line[:1] not in _SIGNS), len(lines) - at)


def _grouped(lines: list[str], language: str) -> Iterator[LineGroup]:
    """LineGroup the lines of a hunk: unchanged ones, and changes with their old and new lines."""
    old, new = (iter(_side(lines, other, language)) for other in "+-")
    group: dict[str, list[Line]] = {"": [], "-": [], "+": []}
    before = ""
    for line in lines:
        sign = line[:1].strip()
        if sign == "\\" or (sign != before and (sign, before) != ("+", "-")):
            yield from _closed(group)
        if sign == "\\":
            yield LineGroup(note=_html([(TextRun(line),)]))
        else:
            sides = [next(side) for side, other in ((old, "+"), (new, "-")) if sign != other]
            group[sign].append(sides[-1])
        before = sign
    yield from _closed(group)


def _side(lines: list[str], other: str, language: str) -> tuple[Line, ...]:
    """Return the lines of one side of a hunk, coloured together."""
    texts = [line[1:] for line in lines if line[:1] not in (other, "\\")]
    return coloured_lines("\n".join(texts), language)


def _closed(group: dict[str, list[Line]]) -> Iterator[LineGroup]:
    """Yield the groups of the lines collected so far, and forget them."""
    if group[""]:
        yield LineGroup(same=_html(group[""]))
    if group["-"] or group["+"]:
        yield _changed(group["-"], group["+"])
    for lines in group.values():
        lines.clear()
