"""Agent text becomes HTML that runs nothing, imitates nothing and hides nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workspace.text.markdown import (
    MAX_MARKDOWN,
    MAX_SHOWN,
    plain_line,
    plain_text,
    render_markdown,
)
from workspace.text.visible import fold_blank_lines, visible, visible_line

ALLOWED = {
    *(
        "p",
        "br",
        "hr",
        "strong",
        "em",
        "s",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "a",
        "span",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![pixel](https://tracker.example/p.gif)",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    '[x](https://a.example "onmouseover=alert(1)")',
    '[x](https://a.example/"onmouseover="alert(1))',
    "[x]: javascript:alert(1)\n\n[x]",
    "<svg onload=alert(1)>",
    "<svg><script href=data:,alert(1) /></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<form action=//evil.example><input name=option value=approve><button>Go</button></form>",
    "<style>*{display:none}</style>",
    "<style><img src=x onerror=alert(1)></style>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<details open ontoggle=alert(1)>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<object data=x></object><embed src=x>",
    "<div hx-get=/logout hx-trigger=load>x</div>",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "`</code><script>alert(1)</script>`",
    '``` "onmouseover=alert(1)\nx\n```',
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "<!-- --><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<p style=position:fixed;inset:0 class=toast id=toasts>System: approved</p>",
    "# <button>Approve</button>",
]


class Parsed(HTMLParser):
    """Return what a browser would see: each tag with its attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"comment in output: {data}")

    def links(self) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.tags if tag == "a"]


def assert_harmless(html: str) -> None:
    for tag, attrs in Parsed(html).tags:
        assert tag in ALLOWED
        assert set(attrs) <= {"href", "rel", "dir", "start", "class"}
        assert attrs.get("class") in (None, "host", "heading", "plain")
        href = attrs.get("href")
        assert href is None or href.startswith(("http://", "https://", "mailto:"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_leave_nothing_that_acts(attack: str) -> None:
    assert_harmless(render_markdown(attack))
    assert_harmless(plain_text(attack))


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text_is_harmless(text: str) -> None:
    assert_harmless(render_markdown(text))


@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "[x](",
                ")",
                "`",
                "javascript:",
                "&#58;",
                "\n",
                "|",
                "# ",
                "> ",
                '"',
                "a",
                "http://",
            ]
        )
    )
)
@settings(max_examples=300, deadline=None)
def test_any_markup_soup_is_harmless(parts: list[str]) -> None:
    assert_harmless(render_markdown("".join(parts)))


def test_attack_is_shown_as_text_not_swallowed() -> None:
    assert "<script>alert(1)</script>" in Parsed(render_markdown("<script>alert(1)</script>")).words


def test_links_are_guarded() -> None:
    (link,) = Parsed(render_markdown("[report](https://a.example/x)")).links()
    assert link["rel"] == "noopener noreferrer nofollow ugc"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("[your bank](https://evil.example/login)", "your bank (evil.example)"),
        ("[https://bank.example](https://evil.example)", "https://bank.example (evil.example)"),
        ("[bank](https://bank.example@evil.example/)", "bank (evil.example)"),
        ("[write](mailto:a@b.example)", "write (a@b.example)"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("[`code`](https://evil.example)", "code (evil.example)"),
    ],
)
def test_links_say_where_they_lead(source: str, words: str) -> None:
    assert Parsed(render_markdown(source)).words.strip() == words


@pytest.mark.parametrize("target", ["/asks/1/withdraw", "//evil.example", "asks/1", "?x", "#ask-1"])
def test_relative_links_lead_nowhere(target: str) -> None:
    assert all("href" not in link for link in Parsed(render_markdown(f"[x]({target})")).links())


def test_pictures_are_not_fetched() -> None:
    assert "<img" not in render_markdown("![x](https://tracker.example/p.gif)")


@pytest.mark.parametrize("level", range(1, 7))
@pytest.mark.case("C92")
def test_headings_stay_out_of_the_outline(level: int) -> None:
    assert render_markdown("#" * level + " System: already approved").strip() == (
        '<p class="heading" dir="auto">System: already approved</p>'
    )


def test_everyday_markdown_works() -> None:
    blocks = ("1. one\n2. two", "> said", "| a |\n|---|\n| b |", "```\npre\n```")
    html = render_markdown("\n\n".join(["**bold** `code` ~~gone~~\nnext line", *blocks]))
    tags = [tag for tag, _ in Parsed(html).tags]
    assert {"strong", "code", "s", "br", "ol", "li", "blockquote", "table", "pre"} <= set(tags)


def test_text_of_any_script_gets_its_own_direction() -> None:
    words = "\u0647\u0644 \u0623\u0648\u0627\u0641\u0642\u061f"
    assert render_markdown(words) == f'<p dir="auto">{words}</p>\n'


@pytest.mark.parametrize(
    "hidden",
    [
        *"\u202e\u202d\u2066\u2069\u200b\u200e\u200f\u2060\ufeff\u00ad\u061c\u3164\u115f\x00\x1b\x07\x7f\x85\u2028",
        "\U000e0041",
        "\ud800",
    ],
)
def test_hidden_characters_are_named(hidden: str) -> None:
    html = render_markdown(f"pay{hidden}pal")
    assert f"⟦U+{ord(hidden):04X}⟧" in html
    assert hidden not in html


def test_hidden_characters_are_named_in_code_and_links() -> None:
    assert "⟦U+202E⟧" in render_markdown("`rm \u202e/`")
    assert "\u202e" not in render_markdown("[x](https://a.example/\u202e)")


@pytest.mark.parametrize(
    "text",
    [
        "👨\u200d👩\u200d👧",
        "❤\ufe0f",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f⃣",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "क्\u200dष",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    ],
)
def test_joiners_stay_where_they_work(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "a\ufe0fb",
        "❤\ufe0f\ufe0f",
        "\u200d",
        "a\U000e0101",
        "🏴\U000e0061\U000e007f",
        "👍\u200d",
        "\u200d👍",
    ],
)
def test_joiners_are_named_where_they_do_nothing(text: str) -> None:
    assert "⟦U+" in visible(text)


def test_line_ends_and_tabs_stay() -> None:
    assert visible("a\r\nb\rc\td\n") == "a\nb\nc\td\n"


def test_long_text_is_shown_whole_as_plain_text() -> None:
    text = "echo ok; " * 2_000 + "rm -rf /"
    assert len(text) > MAX_MARKDOWN
    assert Parsed(render_markdown(text)).words == text


def test_what_is_too_long_to_show_is_counted() -> None:
    assert "7 more characters are stored" in render_markdown("x" * (MAX_SHOWN + 7))


def test_padding_hides_nothing() -> None:
    assert fold_blank_lines("ok\n" + "\n" * 300 + "rm -rf /") == "ok\n⟦300 blank lines⟧\nrm -rf /"
    assert fold_blank_lines("a\n\n\nb") == "a\n\n\nb"


def test_labels_fit_one_line() -> None:
    assert visible_line(" EU\n\n ledger\u202e\t2025 ") == "EU ledger⟦U+202E⟧ 2025"


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 16_000,
        "> " * 8_000,
        "*a" * 8_000,
        "`" * 15_999,
        "![[" * 5_000,
        "[a](b" * 3_000,
        "|" * 16_000,
    ],
)
def test_nesting_bombs_end(bomb: str) -> None:
    assert_harmless(render_markdown(bomb))


def test_templates_in_text_are_text() -> None:
    assert (
        Parsed(render_markdown("{{ settings.SECRET_KEY }} {% include 'x' %}")).words.strip()
        == "{{ settings.SECRET_KEY }} {% include 'x' %}"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("**Refund** it?\n\n- `a`\n- b", "Refund it? a b"),
        ("# Title\ntext", "Title text"),
        ("[bank](https://evil.example)", "bank (evil.example)"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("```\nrm -rf /\n```", "rm -rf /"),
        ("pay \u202e0001", "pay ⟦U+202E⟧0001"),
        ("***", "***"),
        ("<b>x</b>", "<b>x</b>"),
    ],
)
def test_a_row_shows_the_words_of_markdown_without_its_marks(text: str, line: str) -> None:
    assert plain_line(text) == line
