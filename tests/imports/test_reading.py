"""Approvals files as people keep them, read without guessing that anything was decided."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asks.approvals_import import ApprovalItem, parse_approvals


def items(text: str) -> list[ApprovalItem]:
    return parse_approvals(dedent(text)).items


def test_a_checklist() -> None:
    read = items("""\
        # Approvals

        Ask before money moves.

        ## Payments
        - [ ] May I refund order 1182?
          It never arrived.
          Options: yes | no | only half
        - [x] Pay invoice 77 — approved by Mia Wong on 2026-05-03
        * [X] **Rotate** the keys
        - [-] Buy more disks
        - [ ] ~~Delete the old bucket~~

        ## Releases
        1. [ ] Ship v2?
        - no checkbox here
        - [link](https://example.com) is no checkbox
        - [ ]
        """)
    assert [(item.line, item.text, item.decision) for item in read] == [
        (6, "May I refund order 1182?\nIt never arrived.", ""),
        (9, "Pay invoice 77", "approved by Mia Wong on 2026-05-03"),
        (10, "**Rotate** the keys", "ticked"),
        (11, "Buy more disks", "dropped"),
        (12, "~~Delete the old bucket~~", "dropped"),
        (15, "Ship v2?", ""),
    ]
    assert read[0].options == ("yes", "no", "only half")
    assert read[1].by == "Mia Wong"
    assert {item.under for item in read} == {"Approvals / Payments", "Approvals / Releases"}


def test_details_and_nested_items() -> None:
    (outer, inner) = items("""\
        - [ ] Migrate the database?
          - takes an hour

          Ask Tom first.

          ```
          DROP TABLE users;
          ```
          - [x] take a backup
            - to the second disk
        """)
    assert outer.details[0] == "takes an hour"
    assert "Ask Tom first." in outer.details
    assert any("DROP TABLE" in part for part in outer.details)
    assert not any("backup" in part or "second disk" in part for part in outer.details)
    assert (inner.text, inner.details) == ("take a backup", ("to the second disk",))


def test_what_is_quoted_as_code_is_no_item() -> None:
    assert items("```\n- [ ] example\n```\n\n    - [x] example\n") == []


@pytest.mark.parametrize("mark", ["?", ">", "/", "!", "o", "✓"])
def test_a_mark_that_is_not_known_is_open(mark: str) -> None:
    (item,) = items(f"- [{mark}] May I?\n")
    assert item.decision == ""
    assert "treated as open" in item.note


def test_an_open_item_that_says_approved_is_still_open() -> None:
    (item,) = items("- [ ] Deploy — approved by nobody yet\n")
    assert (item.decision, item.by) == ("", "")


def test_a_table() -> None:
    read = parse_approvals(
        dedent("""\
        | # | Request | Amount | Status | Approved by | Options |
        |---|---------|-------:|--------|-------------|---------|
        | 1 | Refund order 9 | 12.50 | pending | | yes \\| no |
        | 2 | Pay invoice 4 | 80 | **Approved** | Tom | |
        | 3 | Buy a car | 9000 | rejected | Mia | |
        | 4 | Odd one | 1 | half-way | Mia | |
        | 5 | | 1 | pending | | |
        """)
    )
    assert read.left_out == []
    assert [(item.line, item.text, item.decision, item.by) for item in read.items] == [
        (3, "Refund order 9", "", ""),
        (4, "Pay invoice 4", "**Approved**", "Tom"),
        (5, "Buy a car", "rejected", "Mia"),
        (6, "Odd one", "", ""),
    ]
    assert read.items[0].details == ("#: 1", "Amount: 12.50")
    assert read.items[0].options == ("yes", "no")
    assert "half-way" in read.items[3].note


def test_a_table_of_decisions_takes_any_words_as_decision() -> None:
    read = items("""\
        | Question | Decision |
        |----------|----------|
        | Which ledger? | the old one, said by Mia |
        | Which bank? | |
        """)
    assert [(item.decision, item.by) for item in read] == [
        ("the old one, said by Mia", "Mia"),
        ("", ""),
    ]


@pytest.mark.parametrize("word", ["", "open", "Pending", "TBD", "⏳", "—", "*waiting*", "[ ]"])
def test_words_for_open(word: str) -> None:
    (item,) = items(f"| Item | Status |\n|---|---|\n| May I? | {word} |\n")
    assert (item.decision, item.note) == ("", "")


def test_a_table_that_is_about_something_else_is_left_out_and_said() -> None:
    read = parse_approvals("| Name | Size |\n|---|---|\n| a | 1 |\n")
    assert read.items == []
    assert read.left_out == [(1, "the table needs a column for the question and one for its state")]


def test_short_rows_are_read() -> None:
    (item,) = items("| Item | Status | By |\n|---|---|---|\n| May I? |\n")
    assert (item.text, item.decision) == ("May I?", "")


@given(st.text("- [x]|\n#`~*>1.ab", max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    for item in parse_approvals(text).items:
        assert item.text.strip()
        assert item.line >= 1
