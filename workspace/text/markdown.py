"""Turns what agents write into HTML that is safe to show. The only module that marks HTML as safe.

Markdown becomes HTML without raw HTML and without images (an image is a request to somebody else's
server), then nh3 lets through a short list of tags. What is left cannot look like the page around
it: headings become bold paragraphs, links always name where they lead, relative links (which would
point into this workspace) lose their address, and hidden characters are shown
(`workspace.text.visible`).

Agent text is rendered once, when it is written, and stored; `stored` marks it as safe again when a
page shows it.
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

from workspace.text.visible import fold_blank_lines, visible

MAX_MARKDOWN = 16_000
"""Characters.

Longer text is shown as plain text: deeply nested markdown of this size takes half a second to
parse.
"""
MAX_SHOWN = 200_000
"""Characters of plain text that a page carries; what is left out is counted in words."""

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
    """HTML of an agent's markdown: safe to store and to show.

    Never raises; plain text when `text` is too long to parse.
    """
    shown = visible(text)
    if len(shown) > MAX_MARKDOWN:
        return plain_text(text)
    return mark_safe(_cleaner.clean(_parser.render(shown)))  # noqa: S308 -- nh3 has the last word


def plain_text(text: str) -> SafeString:
    """HTML of what is no markdown (a person's words, a command's output): escaped, lines kept."""
    shown = fold_blank_lines(visible(text))
    words = f'<p class="plain" dir="auto">{escape(shown[:MAX_SHOWN])}</p>'
    more = len(shown) - MAX_SHOWN
    if more > 0:
        words += f'<p class="heading">⟦{more} more characters are stored but not shown here⟧</p>'
    return mark_safe(words)  # noqa: S308 -- escaped


def stored(html: str) -> SafeString:
    """Marks HTML as safe that `render` or `plain` made and a model stored. Give it nothing else."""
    return mark_safe(html)  # noqa: S308 -- our templates escape


def assembled(html: str) -> SafeString:
    """Marks HTML as safe that our own templates made (a cached card). Give it nothing else."""
    return mark_safe(html)  # noqa: S308 -- sanitised when it was written


def _headings_become_paragraphs(state: StateCore) -> None:
    """An agent's heading would stand in the page's outline and could imitate its headings."""
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
    """Host of a web link without the user name before it, address of a mail link, or nothing."""
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
