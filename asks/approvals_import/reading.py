"""Reads the markdown approvals files that people keep: checkbox lists, and tables with a status.

Nothing is guessed to be decided: what is not plainly ticked, dropped or decided is open, because a
question that is asked once too often does less harm than one that is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from asks.approvals_import import tables
from asks.approvals_import.items import ApprovalItem, Contents, options_in, parse_person

_CHECKBOX = re.compile(r"\[(.)\](?:\s+(.*))?\Z", re.DOTALL)
_OPTIONS = re.compile(r"\s*(?:options?|choices?)\s*:\s*(.+)\Z", re.IGNORECASE | re.DOTALL)
#: What people append to an item once it is decided.
_DECIDED = re.compile(
    r"\s*(?:[\u2014\u2013-]+|=>|→|:)\s*\**((?:approved|accepted|granted|denied|rejected|declined|refused|"
    r"done|decided|signed|withdrawn|dropped|cancell?ed)\b.*)\Z",
    re.IGNORECASE | re.DOTALL,
)


def parse_approvals(text: str) -> Contents:
    """Everything in the file that is an approval."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    contents, headings = Contents(), Headings()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            headings.enter(token.tag, tokens[place + 1].content)
        elif token.type == "list_item_open":
            item = _list_item(tokens, place)
            if item is not None:
                contents.items.append(replace(item, under=headings.path))
        elif token.type == "table_open":
            tables.read_table(_inside(tokens, place), headings.path, contents)
    return contents


class Headings:
    """The headings that what comes next stands under."""

    def __init__(self) -> None:
        self._path: dict[str, str] = {}

    def enter(self, tag: str, title: str) -> None:
        self._path = {known: words for known, words in self._path.items() if known < tag}
        self._path[tag] = title

    @property
    def path(self) -> str:
        return " / ".join(self._path.values())


def _list_item(tokens: Sequence[Token], place: int) -> ApprovalItem | None:
    """The item of a list, if it begins with a checkbox."""
    words = list(_own_words(_inside(tokens, place)))
    found = _CHECKBOX.match(words[0]) if words else None
    if found is None:
        return None
    mark, text = found.group(1), (found.group(2) or "").strip()
    if not text:
        return None
    line = (tokens[place].map or [0])[0] + 1
    details, options = _options_of(words[1:])
    return _judged(ApprovalItem(line, text, details=details, options=options), mark)


def _judged(item: ApprovalItem, mark: str) -> ApprovalItem:
    """What the mark in the box, and what is written behind the text, say of an item."""
    trailer = _DECIDED.search(item.text)
    said = trailer.group(1).strip(" *.") if trailer else ""
    text = item.text[: trailer.start()].strip() if trailer else item.text
    dropped = mark in "-~" or (item.text.startswith("~~") and item.text.endswith("~~"))
    if not dropped and mark not in "xX":
        note = "" if mark == " " else f"the mark [{mark}] is not known: taken as open"
        return replace(item, note=note)
    decision = said or ("dropped" if dropped else "ticked")
    return replace(item, text=text or item.text, decision=decision, by=parse_person(said))


def _options_of(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Details, and the options that one of them lists: ``Options: yes | no``."""
    details: list[str] = []
    options: tuple[str, ...] = ()
    for part in words:
        found = _OPTIONS.match(part)
        offered = options_in(found.group(1)) if found else ()
        if offered:
            options = offered
        else:
            details.append(part)
    return tuple(details), options


def _own_words(inner: Sequence[Token]) -> Iterator[str]:
    """The paragraphs of an item, line by line where it lists options, without nested checkboxes."""
    nested = 0
    for place, token in enumerate(inner):
        if token.type == "list_item_open" and (nested or _is_checkbox(inner, place)):
            nested += 1
        elif token.type == "list_item_close" and nested:
            nested -= 1
        elif nested:
            continue
        elif token.type == "inline":
            yield from _lines(token.content)
        elif token.type in ("fence", "code_block"):
            yield f"```\n{token.content}```"


def _lines(content: str) -> Iterator[str]:
    """A paragraph whole, but for a line that lists the options."""
    kept: list[str] = []
    for line in content.split("\n"):
        if _OPTIONS.match(line):
            if kept:
                yield "\n".join(kept)
            kept = []
            yield line
        else:
            kept.append(line)
    if kept:
        yield "\n".join(kept)


def _is_checkbox(tokens: Sequence[Token], place: int) -> bool:
    first = next((token for token in tokens[place + 1 :] if token.type == "inline"), None)
    return first is not None and _CHECKBOX.match(first.content) is not None


def _inside(tokens: Sequence[Token], place: int) -> Sequence[Token]:
    """What stands between an opening token and its closing one."""
    opening = tokens[place]
    closing = opening.type.removesuffix("_open") + "_close"
    for end in range(place + 1, len(tokens)):
        if tokens[end].type == closing and tokens[end].level == opening.level:
            return tokens[place + 1 : end]
    return tokens[place + 1 :]
