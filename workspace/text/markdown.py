"""Render the markdown of agents as safe HTML. Only this module marks HTML as safe.

Raw HTML and images are not rendered (an image sends a request to another server), and nh3 keeps a
short list of tags only. The result cannot imitate the page around it: headings become bold
paragraphs, links name their host, relative links (which would point into this workspace) lose their
address, and hidden characters become visible (`workspace.text.visible`).

Agent text is rendered and stored when it is written. `stored` marks it as safe again when a page
shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from workspace.text.visible import fold_blank_lines, visible, visible_line

MAX_MARKDOWN = 16_000
"""Characters.

Longer text is shown as plain text: deeply nested markdown of this size takes half a second to
parse.
"""
MAX_SHOWN = 200_000
"""Characters of plain text on a page; a note counts the characters that are left out."""
MAX_LINE = 2_000
"""Characters of markdown that `plain_line` reads."""

_BREAKS = {"softbreak": " ", "hardbreak": " "}
_TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "a", "span", "table", "thead", "tbody", "tr", "th", "td"),
}
_DIRECTED = ("p", "li", "blockquote", "th", "td")

_cleaner = nh3.Cleaner(
    tags=_TAGS,
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    allowed_classes={"p": {"heading"}, "span": {"host"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow ugc",
    set_tag_attribute_values={tag: {"dir": "auto"} for tag in _DIRECTED},
)


def render_markdown(text: str) -> SafeString:
    """Return HTML of an agent's markdown that is safe to store and to show.

    Never raises. Text that is too long to parse becomes plain text.
    """
    shown = visible(text)
    if len(shown) > MAX_MARKDOWN:
        return plain_text(text)
    return mark_safe(_cleaner.clean(_parser.render(shown)))  # noqa: S308 -- nh3 has the last word


def plain_text(text: str) -> SafeString:
    """Return HTML of other text (a person's, or the output of a command): escaped, with its lines."""
    shown = fold_blank_lines(visible(text))
    html = f'<p class="plain" dir="auto">{escape(shown[:MAX_SHOWN])}</p>'
    more = len(shown) - MAX_SHOWN
    if more > 0:
        html += f'<p class="heading">⟦{more} more characters are stored but not shown here⟧</p>'
    return mark_safe(html)  # noqa: S308 -- escaped


def plain_line(text: str) -> str:
    """Return the words of markdown on one line without its marks, for rows and lists.

    A link still names its host. Only the beginning of a long text is read.
    """
    words: list[str] = []
    for token in _parser.parse(visible(text[:MAX_LINE])):
        if token.type == "inline":
            parts = (_BREAKS.get(part.type, part.content) for part in token.children or ())
            words.append("".join(parts))
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
    return visible_line(" ".join(words)) or visible_line(text[:MAX_LINE])


def stored(html: str) -> SafeString:
    """Mark stored HTML of `render_markdown` or `plain_text` as safe. Pass nothing else."""
    return mark_safe(html)  # noqa: S308 -- our templates escape


def assembled(html: str) -> SafeString:
    """Mark HTML of our own templates as safe (a cached card). Pass nothing else."""
    return mark_safe(html)  # noqa: S308 -- sanitised when it was written


def _headings_become_paragraphs(state: StateCore) -> None:
    """Replace headings: an agent's could imitate the page's, and would be in its outline."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
        if token.type == "heading_open":
            token.attrSet("class", "heading")


def _links_name_their_host(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = list(_with_hosts(token.children))


def _with_hosts(tokens: list[Token]) -> Iterator[Token]:
    """`[your bank](https://evil.example)` becomes `your bank (evil.example)`."""
    href, words = "", ""
    for token in tokens:
        if token.type == "link_open":
            href, words = str(token.attrGet("href") or ""), ""
        elif token.type == "link_close" and words.strip() != href:
            yield from _host_tokens(_destination(href))
        elif token.type in ("text", "code_inline"):
            words += token.content
        yield token


def _host_tokens(host: str) -> Iterator[Token]:
    if not host:
        return
    opening = Token("host_open", "span", 1)
    opening.attrSet("class", "host")
    yield opening
    words = Token("text", "", 0)
    words.content = f" ({host})"
    yield words
    yield Token("host_close", "span", -1)


def _destination(href: str) -> str:
    """Return the host of a web link without a user name, the address of a mail link, or nothing."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    return parts.path if parts.scheme == "mailto" else parts.netloc.rpartition("@")[2]


def _build_parser() -> MarkdownIt:
    parser = (
        MarkdownIt("commonmark", {"html": False, "breaks": True})
        .enable(["table", "strikethrough"])
        .disable("image")
    )
    parser.core.ruler.push("headings_become_paragraphs", _headings_become_paragraphs)
    parser.core.ruler.push("links_name_their_host", _links_name_their_host)
    return parser


_parser = _build_parser()
