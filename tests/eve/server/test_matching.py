"""Follow-up text: id, then label, then index, then free text; and never a guess."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.protocols.eve.server.log_events import APPROVAL, QUESTION, LoggedRequest
from workspace.protocols.eve.server.matching import Ambiguous, MatchedOption, match_text


def request(
    *options: tuple[str, str], kind: str = QUESTION, free: bool = False, n: int = 1
) -> LoggedRequest:
    wire: dict[str, Any] = {
        "requestId": f"r{n}",
        "kind": kind,
        "allowFreeform": free,
        "options": [{"id": key, "label": label} for key, label in options],
    }
    return LoggedRequest(n, wire)


APPROVE = request(("approve", "Yes"), ("deny", "No"), kind=APPROVAL)
LEDGERS = request(("eu", "Europe"), ("us", "America"))


@pytest.mark.parametrize(
    ("text", "option"),
    [("eu", "eu"), ("EU", "eu"), ("america", "us"), (" Europe\n", "eu"), ("2", "us"), ("1", "eu")],
)
def test_id_then_label_then_index(text: str, option: str) -> None:
    assert match_text(text, [LEDGERS]) == MatchedOption(LEDGERS, option)


def test_an_id_comes_before_a_label_and_a_label_before_an_index() -> None:
    mixed = request(("1", "b"), ("b", "c"), ("x", "2"))
    assert match_text("b", [mixed]) == MatchedOption(mixed, "b")
    assert match_text("2", [mixed]) == MatchedOption(mixed, "x")
    assert match_text("1", [mixed]) == MatchedOption(mixed, "1")


@pytest.mark.parametrize("text", ["", "3", "0", "+1", "01x", "eu.", "e u", "9999"])
def test_nothing_else_is_an_option(text: str) -> None:
    assert match_text(text, [LEDGERS]) is None


@pytest.mark.parametrize("text", ["1", "2", "y", "n", "approve!", "I approve", "да"])
def test_an_approval_takes_its_own_words_whole(text: str) -> None:
    assert match_text(text, [APPROVE]) is None


def test_case_decides_between_options_that_differ_by_it() -> None:
    both = request(("a", "Approve"), ("b", "approve"))
    assert match_text("approve", [both]) == MatchedOption(both, "b")
    with pytest.raises(Ambiguous):
        match_text("APPROVE", [both])


def test_two_requests_that_could_be_meant_are_none() -> None:
    with pytest.raises(Ambiguous):
        match_text("eu", [LEDGERS, request(("eu", "EU"), n=2)])
    with pytest.raises(Ambiguous):
        match_text("Alice", [request(free=True), request(free=True, n=2)])


def test_an_approval_is_never_meant_beside_something_else() -> None:
    with pytest.raises(Ambiguous):
        match_text("approve", [APPROVE, request(free=True, n=2)])


def test_free_words_go_where_words_are_taken() -> None:
    free = request(free=True, n=2)
    assert match_text("anything", [APPROVE, free]) == MatchedOption(free, text="anything")
    assert match_text("anything", [APPROVE]) is None


@given(st.text())
def test_no_text_but_its_own_ever_approves(text: str) -> None:
    found = match_text(text, [APPROVE])
    approves = found is not None and found.option == "approve"
    assert approves == (text.strip().casefold() in ("approve", "yes"))
