"""Read approvals files in Markdown: checkbox lists, and tables with a status column.

The reader never guesses that an item is decided. An item that is not clearly ticked, dropped or decided
is open, because asking a question twice does less harm than losing it.
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
#: Trailers that people append to a decided item.
_DECIDED = re.compile(
    r"\s*(?:[\u2014\u2013-]+|=>|→|:)\s*\**((?:approved|accepted|granted|denied|rejected|declined|refused|"
    r"done|decided|signed|withdrawn|dropped|cancell?ed)\b.*)\Z",
    re.IGNORECASE | re.DOTALL,
)


def parse_approvals(text: str) -> Contents:
    """Return every approval in the file, and what was left out."""
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
    """The path of headings above the current place in the file."""

    def __init__(self) -> None:
        self._path: dict[str, str] = {}

    def enter(self, tag: str, title: str) -> None:
        self._path = {other: text for other, text in self._path.items() if other < tag}
        self._path[tag] = title

    @property
    def path(self) -> str:
        return " / ".join(self._path.values())


def _list_item(tokens: Sequence[Token], place: int) -> ApprovalItem | None:
    """Return a list item as an approval; None unless it begins with a checkbox and has text."""
    paragraphs = list(_own_paragraphs(_inside(tokens, place)))
    match = _CHECKBOX.match(paragraphs[0]) if paragraphs else None
    if match is None:
        return None
    mark, text = match.group(1), (match.group(2) or "").strip()
    if not text:
        return None
    line = (tokens[place].map or [0])[0] + 1
    details, options = _options_of(paragraphs[1:])
    return _judged(ApprovalItem(line, text, details=details, options=options), mark)


def _judged(item: ApprovalItem, mark: str) -> ApprovalItem:
    """Add the decision that the checkbox mark and the trailer after the text express."""
    trailer = _DECIDED.search(item.text)
    appended = trailer.group(1).strip(" *.") if trailer else ""
    text = item.text[: trailer.start()].strip() if trailer else item.text
    dropped = mark in "-~" or (item.text.startswith("~~") and item.text.endswith("~~"))
    if not dropped and mark not in "xX":
        note = "" if mark == " " else f"unknown mark [{mark}], treated as open"
        return replace(item, note=note)
    decision = appended or ("dropped" if dropped else "ticked")
    return replace(item, text=text or item.text, decision=decision, by=parse_person(appended))


def _options_of(paragraphs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the details, and the options of a paragraph such as ``Options: yes | no``."""
    details: list[str] = []
    options: tuple[str, ...] = ()
    for paragraph in paragraphs:
        match = _OPTIONS.match(paragraph)
        offered = options_in(match.group(1)) if match else ()
        if offered:
            options = offered
        else:
            details.append(paragraph)
    return tuple(details), options


def _own_paragraphs(inner: Sequence[Token]) -> Iterator[str]:
    """Iterate over the paragraphs of an item. Skip nested checkbox items.

    A line that lists options is a paragraph of its own.
    """
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
    """Iterate over a paragraph, split at the lines that list options."""
    lines: list[str] = []
    for line in content.split("\n"):
        if _OPTIONS.match(line):
            if lines:
                yield "\n".join(lines)
            lines = []
            yield line
        else:
            lines.append(line)
    if lines:
        yield "\n".join(lines)


def _is_checkbox(tokens: Sequence[Token], place: int) -> bool:
    first = next((token for token in tokens[place + 1 :] if token.type == "inline"), None)
    return first is not None and _CHECKBOX.match(first.content) is not None


def _inside(tokens: Sequence[Token], place: int) -> Sequence[Token]:
    """Return the tokens between an opening token and its closing token."""
    opening = tokens[place]
    closing = opening.type.removesuffix("_open") + "_close"
    for end in range(place + 1, len(tokens)):
        if tokens[end].type == closing and tokens[end].level == opening.level:
            return tokens[place + 1 : end]
    return tokens[place + 1 :]
