"""Changes, patches, JSON and code of a call: shown as what they are, whole, and harmless."""

from __future__ import annotations

import difflib
import html
import json
import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from asks.drafts import ActionDraft
from asks.models import Ask
from tests.pages import world
from tests.pages.answers import assert_untouched, card, post
from tests.pages.html import Element, read
from tests.policies.world import asked
from workspace.pages.cards import blocks
from workspace.pages.cards.call_rows import CallRow, rows_of
from workspace.text.highlight import (
    LANGUAGES,
    MAX_SECONDS,
    coloured_lines,
    language_of,
    line_html,
    text_of,
)
from workspace.text.json_layout import laid_out
from workspace.text.line_diff import Hunk, compare_texts, is_patch, read_patch
from workspace.text.visible import visible

OLD, NEW = "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 4\nc = 3\n"
PATCH = """--- a/pay.py\n+++ b/pay.py\n@@ -1,2 +1,2 @@ def pay
 x = 1
-y = 2
+y = 3
"""
HOSTILE = {
    "markup": "</span></ins><script>alert(1)</script>\n" * 3,
    "directions": "if admin:\u202e # \u2066x\n\tpay()\u200b\n",
    "controls": "\x1b[2Jrm -rf\x00/\r\nok\n".replace("\x00", "\x01"),
    "entities": "&lt;b&gt; &amp; \"' `\n" * 2,
}


def rows(params: Any, was: Any = None) -> list[CallRow]:
    return rows_of(params) if was is None else rows_of(params, was)


def plain(lines: tuple[Any, ...]) -> list[str]:
    """The text of lines of HTML."""
    return [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in lines]


def sides(hunks: tuple[Hunk, ...]) -> tuple[list[str], list[str]]:
    """The old and the new text that a difference shows, by lines."""
    old, new = [], []
    for hunk in hunks:
        for group in hunk.groups:
            old += plain(group.same + group.old)
            new += plain(group.same + group.new)
    return old, new


def figure(client: Client, owner: User, params: Any) -> tuple[Ask, Element]:
    ask = asked(world.home(world.agent_of(owner)), ActionDraft("edit", params))
    page = read(client.get(f"/asks/{ask.pk}/").content)
    return ask, page.one("figure", class_="bound")


@pytest.mark.parametrize(
    ("names", "is_pair"),
    [
        (("old_string", "new_string"), True),
        (("oldText", "newText"), True),
        (("before", "after"), True),
        (("text_before", "text_after"), True),
        (("from", "to"), True),
        (("search", "replace"), True),
        (("original", "replacement"), True),
        (("old", "newer"), False),
        (("bold", "bnew"), False),
        (("first", "second"), False),
    ],
)
def test_a_pair_of_arguments_is_one_change(names: tuple[str, str], is_pair: bool) -> None:
    found = rows({"path": "a.py", names[0]: OLD, names[1]: NEW})
    assert [row.name for row in found][1:] == (
        [f"{names[0]} → {names[1]}"] if is_pair else list(names)
    )


@pytest.mark.parametrize(
    "pair",
    [
        {"from": "DE89 3704", "to": "DE12 5001"},
        {"from": "ann@example.com", "to": "bob@example.com"},
        {"from": "Dear Ann,\nhello", "to": "Something\nelse entirely 12345"},
        {"old": 3, "new": 5},
        {"old": "a", "new": None},
    ],
)
def test_what_is_no_change_keeps_its_rows(pair: dict[str, Any]) -> None:
    assert [row.name for row in rows(pair)] == list(pair)


def test_pairs_of_objects_are_changes_of_json_and_nested_pairs_too() -> None:
    found = rows({"before": {"a": 1, "b": 2}, "after": {"a": 1, "b": 3}})
    assert found[0].block is not None
    assert found[0].block.what == "change of JSON"
    edits = {"path": "x.py", "edits": [{"old": "if a:\n b", "new": "if a:\n c"}]}
    nested = [row for row in rows(edits) if row.block]
    assert [row.name for row in nested] == ["old → new"]
    assert "hl-k" in "".join(map(str, nested[0].block.folds[0].groups))  # type: ignore[union-attr]


@settings(deadline=None)
@given(
    st.text("ab\n ", max_size=60),
    st.text("ab\n ", max_size=60),
    st.sampled_from(["", "python", "json", "bash"]),
)
def test_a_change_shows_every_line_of_both_texts(before: str, now: str, language: str) -> None:
    old, new = sides(compare_texts(before, now, language))
    assert (old, new) == (before.splitlines(), now.splitlines())


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30)
)
def test_a_patch_shows_every_line_of_it(before: list[str], now: list[str]) -> None:
    lines = list(difflib.unified_diff(before, now, "a/x.py", "b/x.py", lineterm=""))
    text = "\n".join(lines)
    assert is_patch(text) == bool(lines)
    shown: list[str] = []
    for hunk in read_patch(text):
        shown += [hunk.title] if hunk.title else []
        for group in hunk.groups:
            sign = " " if hunk.title else ""
            shown += [f"{sign}{line}" for line in plain(group.same)]
            shown += [f"-{line}" for line in plain(group.old)]
            shown += [f"+{line}" for line in plain(group.new)]
    assert shown == lines


def test_a_patch_is_no_longer_than_its_head_says() -> None:
    sneaky = f"{PATCH}-z = 4\n+rm -rf /\n"
    hunks = read_patch(sneaky)
    assert [hunk.title for hunk in hunks] == ["", "@@ -1,2 +1,2 @@ def pay", ""]
    assert plain(hunks[2].groups[0].same)[:2] == ["-z = 4", "+rm -rf /"]
    assert hunks[2].groups[0].new == ()


@pytest.mark.parametrize(
    "text", ["@@ -1 +1 @@", "--- a\n+++ b\n", "a - b\n+ c", "@@ -1 +1 @@\n--- a\n", "*** Begin"]
)
def test_what_is_no_patch_is_none(text: str) -> None:
    assert not is_patch(text)


def test_the_format_of_apply_patch_is_a_patch_too() -> None:
    own = "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-x = 1\n+x = 2\n y\n*** End Patch"
    assert is_patch(own)
    old, new = sides(read_patch(own))
    assert "x = 1" in old
    assert "x = 2" in new
    assert [line for line in new if line.startswith("***")] == ["*** Begin Patch", "*** End Patch"]


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_that_is_laid_out_is_the_same_json(value: Any) -> None:
    text = json.dumps(value)
    pretty = laid_out(text)
    assert pretty is None or json.loads(pretty) == value
    assert (pretty is None) == (not text.startswith(("{", "[")) or len(text) < 3)


def test_json_that_is_laid_out_loses_nothing_that_a_parser_loses() -> None:
    assert laid_out('{"a":1.50, "a":[],"b":{}}') == '{\n  "a": 1.50,\n  "a": [],\n  "b": {}\n}'


@pytest.mark.parametrize("text", ["{}", "5", '"x"', "{a: 1}", "[" * 300 + "]" * 300, "[1] x"])
def test_other_text_is_not_laid_out(text: str) -> None:
    assert laid_out(text) is None


@pytest.mark.parametrize(
    ("name", "path", "text", "language"),
    [
        ("content", "app/pay.py", "x", "python"),
        ("content", "/srv/Dockerfile", "x", "docker"),
        ("command", "", "ls", "bash"),
        ("content", "", "#!/usr/bin/env node\n", "javascript"),
        ("query", "", "SELECT a\nFROM b", "sql"),
        ("content", "notes.txt", "select your seat", ""),
        ("body", "", "Dear Ann,\nupdate your address", ""),
    ],
)
def test_the_language_comes_from_the_path_or_the_name(
    name: str, path: str, text: str, language: str
) -> None:
    assert language_of(name, path, text) == language


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(LANGUAGES)), st.text(max_size=80))
def test_colours_change_no_character(language: str, text: str) -> None:
    lines = coloured_lines(text, language)
    assert "\n".join(text_of(line) for line in lines) == text
    assert plain(tuple(line_html(line, (1, 4)) for line in lines)) == text.split("\n")


@pytest.mark.parametrize(
    ("language", "piece"),
    [("java", "a "), ("bash", '"'), ("python", "$("), ("make", "{"), ("ruby", "["), ("html", "<")],
)
def test_no_text_takes_long_to_colour(language: str, piece: str) -> None:
    lines = [(piece * 200)[:400]] * 27
    began = time.thread_time()
    coloured = coloured_lines("\n".join(lines), language)
    assert time.thread_time() - began < 5 * MAX_SECONDS
    assert [text_of(line) for line in coloured] == lines


@pytest.mark.parametrize("words", ["a\n", "a\nb\n", "{}\n"])
def test_comparing_large_texts_is_bounded(words: str) -> None:
    before, now = words * 6_000, ("x\n" + words) * 6_000
    began = time.perf_counter()
    old, new = sides(compare_texts(before, now))
    assert time.perf_counter() - began < 5
    assert (len(old), len(new)) == (before.count("\n"), now.count("\n"))


def test_a_change_of_nothing_but_the_end_is_said() -> None:
    notes = [
        note for hunk in compare_texts("a\nb", "a\nb\n") for g in hunk.groups for note in g.note
    ]
    assert notes == ["The line break at the end is new."]


def test_space_at_the_end_of_a_line_is_marked() -> None:
    hunks = compare_texts("pay()\n", "pay()  \n")
    assert '<span class="hl-x hl-w">  </span>' in hunks[0].groups[0].new[0]


@pytest.mark.django_db
@pytest.mark.parametrize("words", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", ["pair", "patch", "code", "json", "changed"])
def test_hostile_text_stays_text_in_every_block(
    as_owner: Client, owner: User, words: str, kind: str
) -> None:
    params: dict[str, Any] = {
        "pair": {"path": "x.py", "old_string": f"{words}\nx", "new_string": f"{words}\ny"},
        "patch": {
            "patch": f"--- a/{words[:9]}\n+++ b/x\n@@ -1 +1 @@ {words[:9]}\n-{words}\n+{words}\n"
        },
        "code": {"path": f"{words}.py", "content": f"{words}\n{words}"},
        "json": {"content": json.dumps({words: [words]})},
        "changed": {"text": f"{words}\n{words}"},
    }[kind]
    _ask, shown = figure(as_owner, owner, params)
    assert shown.all("div", class_="look") or kind == "changed"
    assert not shown.all("script")
    assert not [one for one in shown.all() if "style" in one.attrs]
    assert visible(shown.words) == shown.words


@pytest.mark.django_db
def test_every_fold_of_a_block_is_marked_and_holds_the_approval_without_scripts(
    as_owner: Client, owner: User
) -> None:
    old = "".join(f"line {n}\n" for n in range(200))
    params = {"old_string": old, "new_string": old.replace("line 90\n", "line ninety\n")}
    ask, shown = figure(as_owner, owner, params)
    folds = shown.all("details")
    assert [fold.one("summary").words for fold in folds] == [
        "87 unchanged lines",
        "106 unchanged lines",
    ]
    assert all("data-fold" in fold.attrs for fold in folds)
    first = card(post(as_owner, ask, option="approve", whole="", **world.echo_of(ask)), ask)
    assert "It is shown above as a whole" in first.words
    assert all("open" in fold.attrs for fold in first.one("figure").all("details"))
    assert_untouched(ask)


@pytest.mark.django_db
def test_a_changed_call_shows_a_long_text_as_one_change(as_owner: Client, owner: User) -> None:
    found = rows({"body": "Dear Ann,\npay 5\n", "n": 1}, {"body": "Dear Ann,\npay 3\n", "n": 1})
    assert [(row.sign, row.name) for row in found] == [("±", "body"), ("", "n")]
    assert found[0].block is not None
    assert found[0].block.size == "1 line removed, 1 line added"


def test_an_argument_that_only_one_side_has_is_shown_as_what_it_is_too() -> None:
    found = rows({"n": 1, "patch": PATCH}, {"n": 1, "script": "#!/bin/sh\nls\n"})
    assert [(row.sign, row.name, row.block is not None) for row in found] == [
        ("", "n", False),
        ("+", "patch", True),
        ("-", "script", True),
    ]


def test_a_long_code_folds_after_its_first_lines() -> None:
    block = blocks.block_of("content", "x = 1\n" * 100, {"path": "a.py"})
    assert block is not None
    assert block.size == "100 lines"
    assert [(fold.is_open, fold.title) for fold in block.folds] == [
        (True, ""),
        (False, "60 more lines"),
    ]
