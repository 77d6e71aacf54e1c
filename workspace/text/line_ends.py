"""White space at the ends of lines: shown where nobody would see it, kept where nobody changed it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

_END = re.compile(r"\r\n|\r|\n")
_BLANKS = re.compile(r"[^\S\r\n]+(?=\r|\n|\Z)")


class TextLine(NamedTuple):
    """A line without its end, and the end: CR LF, CR, LF or nothing."""

    text: str
    end: str


def lines_of(text: str) -> list[TextLine]:
    """Split a text into lines; the last one has no end."""
    ends = _END.findall(text)
    return [TextLine(*pair) for pair in zip(_END.split(text), [*ends, ""], strict=True)]


def mark_line_ends(text: str) -> str:
    """Name carriage returns, and blanks at the ends of the lines of a longer text, in brackets.

    Where every line ends alike in CR LF, say so once.
    """
    if "\n" in text or "\r" in text:
        text = _BLANKS.sub(lambda blanks: f"⟦{_count(blanks.group())}⟧", text)
    if "\r" not in text:
        return text
    lines = lines_of(text)
    if all(line.end == "\r\n" for line in lines[:-1]):
        return "\n".join(line.text for line in lines) + "⟦" + _("lines end in CR LF") + "⟧"
    return "".join(line.text + line.end.replace("\r", "⟦CR⟧") for line in lines)


def _count(blanks: str) -> str:
    if set(blanks) == {" "}:
        return ngettext("{count} space", "{count} spaces", len(blanks)).format(count=len(blanks))
    return ngettext("{count} blank", "{count} blanks", len(blanks)).format(count=len(blanks))


def keep_line_ends(before: str, typed: str) -> str:
    """Return a typed text in which every line that was not changed ends as it did before.

    A form sends all ends as one kind. A new line ends like the one above it.
    """
    if "\r" not in before:
        return "".join(line.text + ("\n" if line.end else "") for line in lines_of(typed))
    old, new = lines_of(before), lines_of(typed)
    kept = dict(_same_places(old, new))
    usual = old[0].end
    parts: list[str] = []
    for number, line in enumerate(new):
        end = old[kept[number]].end if number in kept else usual
        usual = end or usual
        if not line.text and usual == "\n" and parts and parts[-1].endswith("\r"):
            usual = "\r"  # or the two would be one end
        parts.append(line.text + (usual if line.end else ""))
    return "".join(parts)


def _same_places(old: list[TextLine], new: list[TextLine]) -> list[tuple[int, int]]:
    """Return the pairs (new line, old line) that are the same line, or the one that replaced it."""
    matcher = SequenceMatcher(
        None, [line.text for line in old], [line.text for line in new], autojunk=False
    )
    pairs: list[tuple[int, int]] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and old_to - old_from == new_to - new_from):
            pairs += zip(range(new_from, new_to), range(old_from, old_to), strict=True)
    return pairs
