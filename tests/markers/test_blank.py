"""What shows nothing is blank to every marker: the product has one definition of it."""

from __future__ import annotations

import itertools

import pytest

from agents.running.runtime import Noticed, Reported
from agents.text.storable import is_blank
from workspace.protocols.markers.reader import Reader

BLANKS = [
    "",
    " ",
    "\t",
    "\u00a0",
    "\u200b",
    "\u2060",
    "\u2800",
    "\u3164",
    "\u115f",
    "\uffa0",
    "\u0301",
]


@pytest.mark.parametrize(("marker", "text"), list(itertools.product(("REPORT", "NOTIFY"), BLANKS)))
def test_a_blank_report_or_notice_is_none(marker: str, text: str) -> None:
    assert is_blank(text)
    events = Reader().feed(f"{marker}: {text}\n{marker}: {text}{text}\n")
    assert not any(isinstance(event, Reported | Noticed) for event in events)


@pytest.mark.parametrize("text", BLANKS)
def test_a_blank_question_is_none(text: str) -> None:
    reader = Reader()
    reader.feed(f"ASK: {text}\nOPTIONS: yes | no\n\nOUTCOME: BLOCKED\n")
    reading = reader.finish()
    assert reading.asks == ()
