"""JSON as a person would write it, and the order of its names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.text.canonical_json import Json
from agents.text.key_order import in_order, order_of
from agents.text.outline import DEEPEST, outline, write_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def test_nested_values_are_written_as_a_person_would() -> None:
    written = outline(
        {"force": True, "none": None, "to": {"hosts": ["a", False], "n": 1.5}, "e": {}}
    )
    assert written.splitlines() == [
        "- force: true",
        "- none: null",
        "- to:",
        "  - hosts:",
        "    - a",
        "    - false",
        "  - n: 1.5",
        "- e: {}",
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a: true", "a: true"),
        (True, "true"),
        ([], "[]"),
        ([True, {"a": None}], "- true\n-\n  - a: null"),
        ({"a": [1]}, "- a:\n  - 1"),
    ],
)
def test_a_value_alone_is_written_as_a_person_would(value: Json, written: str) -> None:
    assert write_value(value) == written


def test_what_is_nested_too_deep_is_written_as_json() -> None:
    deep: Json = True
    for _ in range(100):
        deep = {"a": deep}
    lines = outline({"a": deep}).splitlines()
    assert len(lines) == DEEPEST + 1
    assert "True" not in lines[-1]


@settings(deadline=None)
@given(VALUES)
def test_an_order_changes_no_value_and_is_kept(value: Json) -> None:
    stored = json.loads(json.dumps(value, sort_keys=True))
    restored = in_order(stored, order_of(value))
    assert json.dumps(restored) == json.dumps(value)


@pytest.mark.parametrize("order", [{}, {"": ["gone", "b", "b"]}, {"/x": ["a"]}])
def test_an_order_that_does_not_fit_loses_and_adds_nothing(order: dict[str, list[str]]) -> None:
    assert in_order({"a": 1, "b": 2}, order) == {"a": 1, "b": 2}
