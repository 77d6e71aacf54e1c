"""Which texts are blank, and what PostgreSQL can store."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from agents.text.storable import MAX_DEPTH, is_blank, is_storable, make_storable

BLANK = [
    "",
    " \t\n",
    "\u00a0\u2003",
    "\u200b\u200c\u200d\ufeff",
    "\u2800",
    "\u3164\u115f",
    "\u0301",
    "\u202e\x00",
]


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_be_seen(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "\u200bx", "é", "0", "👩\u200d💻", "新", "\U000e0041a"])
def test_something_to_be_seen(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "x\udfff"])
def test_what_cannot_be_kept_is_shown_as_such(text: str) -> None:
    assert not is_storable(text)
    assert "\ufffd" in make_storable(text)
    assert is_storable(make_storable(text))


def test_what_can_be_kept_is_left_alone() -> None:
    kept = {"a": [1, 2.5, None, True, "\ufffd é 👍", {"b": []}], "big": 10**300}
    assert make_storable(kept) == kept
    assert is_storable("\\u0000")


def test_json_that_cannot_be_kept_becomes_json_that_can() -> None:
    strange = {1: float("nan"), "b": (1, {2}), "c": 10**5000, "\0": b"x", None: object}
    kept: Any = make_storable(strange)
    assert kept["1"] is None
    assert kept["b"] == [1, "{2}"]
    assert kept["c"] is None
    assert kept["\ufffd"] == "b'x'"
    json.dumps(kept, allow_nan=False)


def test_what_is_nested_without_end_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    kept: Any = make_storable(endless)
    depth = 0
    while kept is not None:
        (kept,), depth = kept, depth + 1
    assert depth == MAX_DEPTH


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.mark.django_db
def test_postgresql_takes_whatever_was_made_storable() -> None:
    @given(ANY_JSON)
    def stored(value: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::jsonb", [json.dumps(make_storable(value))])

    stored()
