"""Templates: every visible word can be translated, and no line is long."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings

TEMPLATES = Path(settings.BASE_DIR) / "templates"
NAMES = sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html"))

#: Attributes that a reader sees or hears.
SPOKEN = {"title", "aria-label", "placeholder", "alt"}

#: The caps of keys, and letters that are no words.
SYMBOLS = {"J", "K", "O", "v"}

TRANSLATED = re.compile(r"{%\s*blocktranslate\b.*?{%\s*endblocktranslate\s*%}", re.DOTALL)
COMMENT = re.compile(r"{#.*?#}")
TAG = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)


class _Words(HTMLParser):
    """Collects what a reader sees of HTML that holds no template tags any more."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.words += [value or "" for name, value in attrs if name in SPOKEN]
        kind = dict(attrs).get("type")
        if tag == "input" and kind in {"submit", "button"}:
            self.words.append(dict(attrs).get("value") or "")


def untranslated(source: str) -> list[str]:
    """Return the visible words of a template outside of translate tags."""
    reader = _Words()
    reader.feed(TAG.sub("", TRANSLATED.sub("", COMMENT.sub("", source))))
    reader.close()
    words = (word for text in reader.words for word in re.findall(r"[^\W\d_]+", text))
    return [word for word in words if word not in SYMBOLS]


@pytest.mark.parametrize("name", NAMES)
def test_every_visible_word_can_be_translated(name: str) -> None:
    assert untranslated((TEMPLATES / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<p>Plain {{ name }}</p>", ["Plain"]),
        ('<p aria-label="Spoken"></p>', ["Spoken"]),
        ('<input type="submit" value="Send">', ["Send"]),
        ('<p>{% translate "Said" %}, {{ name }}: “{{ words }}”</p>', []),
        ("{% blocktranslate trimmed %}\n<b>One</b>\n{% plural %}\nmore{% endblocktranslate %}", []),
        ("<p>{% if a %}one{% endif %}</p>", ["one"]),
    ],
)
def test_the_check_sees_words_and_attributes(source: str, words: list[str]) -> None:
    assert untranslated(source) == words


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_longer_than_120_characters(name: str) -> None:
    lines = (TEMPLATES / name).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120] == []
