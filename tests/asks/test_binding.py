"""The action hash: RFC 8785's own examples, what it refuses, and what it sees."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asks.actions.binding import (
    LARGEST,
    Binding,
    Unhashable,
    action_hash,
    canonical_action_json,
    echo_matches,
    is_complete_echo,
    restore_params,
)

#: RFC 8785, section 3.2.2 and 3.2.3, with the bytes of section 3.2.4.
RFC_SAMPLE = r"""
{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}
"""
RFC_BYTES = bytes.fromhex(
    "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a"
    "5b3333333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d3237"
    "5d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d"
)

#: RFC 8785, appendix B: IEEE 754 bits and the number as it is written.
RFC_NUMBERS = [
    ("0000000000000000", b"0"),
    ("8000000000000000", b"0"),
    ("0000000000000001", b"5e-324"),
    ("8000000000000001", b"-5e-324"),
    ("7fefffffffffffff", b"1.7976931348623157e+308"),
    ("ffefffffffffffff", b"-1.7976931348623157e+308"),
    ("4340000000000000", b"9007199254740992"),
    ("c340000000000000", b"-9007199254740992"),
    ("4430000000000000", b"295147905179352830000"),
    ("44b52d02c7e14af5", b"9.999999999999997e+22"),
    ("44b52d02c7e14af6", b"1e+23"),
    ("44b52d02c7e14af7", b"1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", b"999999999999999700000"),
    ("444b1ae4d6e2ef4f", b"999999999999999900000"),
    ("444b1ae4d6e2ef50", b"1e+21"),
    ("3eb0c6f7a0b5ed8c", b"9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", b"0.000001"),
    ("41b3de4355555553", b"333333333.3333332"),
    ("41b3de4355555554", b"333333333.33333325"),
    ("41b3de4355555555", b"333333333.3333333"),
    ("41b3de4355555556", b"333333333.3333334"),
    ("41b3de4355555557", b"333333333.33333343"),
    ("becbf647612f3696", b"-0.0000033333333333333333"),
    ("43143ff3c1cb0959", b"1424953923781206.2"),
]


def test_the_sample_of_the_standard() -> None:
    assert canonical_action_json(json.loads(RFC_SAMPLE)) == RFC_BYTES


@pytest.mark.parametrize(("bits", "written"), RFC_NUMBERS)
def test_the_numbers_of_the_standard(bits: str, written: bytes) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_action_json(number) == written


def test_keys_are_sorted_as_the_standard_sorts_them() -> None:
    """By UTF-16 code units: the emoji comes before U+FB33, unlike by code points."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = json.loads(canonical_action_json(dict.fromkeys(keys, 0)))
    assert list(written) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_the_hash_is_that_of_the_canonical_bytes() -> None:
    written = b'{"operation":"deploy","params":{"a":1,"b":[2,3]}}'
    expected = "v1:" + hashlib.sha256(written).hexdigest()
    assert action_hash("deploy", {"b": [2, 3], "a": 1.0}) == expected


@pytest.mark.case("aoa-23")
def test_key_order_means_nothing_however_deep() -> None:
    one = {"a": {"c": [{"x": 1, "y": 2}], "d": 2}, "b": 1}
    other = {"b": 1, "a": {"d": 2, "c": [{"y": 2, "x": 1}]}}
    assert action_hash("x", one) == action_hash("x", other)


SAME = [(1, 1.0), (0, -0.0), (1e2, 100), ("\u00e9", "\xe9"), ([], ())]
DIFFERENT = [
    (1, "1"),
    (1, True),
    (0, False),
    (0, None),
    ({}, []),
    ("", None),
    ("\u00e9", "e\u0301"),  # the same to the eye: a difference in bytes is a difference
    ("a", "a "),
    ("a", "A"),
    ([1, 2], [2, 1]),
    ({"a": 1}, {"a": 1, "b": None}),
    (0.1, 0.1 + 2**-55),
    ("\u202eabc", "abc"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_values_have_one_hash(one: object, other: object) -> None:
    assert action_hash("x", {"v": one}) == action_hash("x", {"v": other})


@pytest.mark.case("aoa-23")
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_difference_is_seen(one: object, other: object) -> None:
    assert action_hash("x", {"v": one}) != action_hash("x", {"v": other})


def test_the_operation_is_part_of_the_action() -> None:
    assert action_hash("pay", {}) != action_hash("refund", {})


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


REFUSED: list[tuple[Any, str]] = [
    (float("nan"), "nan is not a number in JSON."),
    (float("inf"), "inf is not a number in JSON."),
    (float("-inf"), "-inf is not a number in JSON."),
    ([{"deep": float("nan")}], "nan is not a number in JSON."),
    (LARGEST + 1, "An integer is larger than 2^53 - 1. Send it as text."),
    (-LARGEST - 1, "An integer is larger than 2^53 - 1. Send it as text."),
    (10**5000, "An integer is larger than 2^53 - 1. Send it as text."),
    ("\ud800", "A text contains a character that cannot be stored."),
    ({"\udfff": 1}, "A text contains a character that cannot be stored."),
    ("\0", "A text contains a character that cannot be stored."),
    ({1: 2}, "This is not JSON: object keys must be strings."),
    ({1, 2}, "This is not JSON: unsupported type: <class 'set'>."),
    (b"bytes", "This is not JSON: unsupported type: <class 'bytes'>."),
    (nested(33), "The params are nested deeper than 32 levels."),
    (nested(100_000), "The params are nested deeper than 32 levels."),
    ("x" * 262_143, "The params have 262145 bytes; the limit is 262144."),
    (["x"] * 10_001, "The params have more than 10000 keys and items."),
    ({str(n): n for n in range(10_001)}, "The params have more than 10000 keys and items."),
    ([["x"] * 100] * 100, "The params have more than 10000 keys and items."),
]


@pytest.mark.case("C97")
@pytest.mark.parametrize(("params", "why"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_bound_is_refused_with_words(params: Any, why: str) -> None:
    with pytest.raises(Unhashable) as refused:
        canonical_action_json(params)
    assert str(refused.value) == why


ALLOWED: list[Any] = [
    LARGEST,
    -LARGEST,
    nested(32),
    "x" * 262_142,
    ["x"] * 10_000,
    {str(n): 0 for n in range(10_000)},
]


@pytest.mark.parametrize("params", ALLOWED, ids=range(len(ALLOWED)))
def test_the_bounds_themselves_are_allowed(params: Any) -> None:
    assert canonical_action_json(params)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST, LARGEST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_the_canonical_form_reads_back_as_the_same(params: Any) -> None:
    assert canonical_action_json(
        restore_params(json.loads(canonical_action_json(params)))
    ) == canonical_action_json(params)


def test_a_large_float_comes_back_from_storage_as_it_was() -> None:
    """PostgreSQL's jsonb gives 1e21 back as a whole number."""
    assert canonical_action_json(restore_params({"a": [10**21, True, 5]})) == canonical_action_json(
        {"a": [1e21, True, 5]}
    )


SHOWN = Binding("v1:" + "a" * 64, 3, "7.1")


@pytest.mark.parametrize(
    "echo",
    [
        SHOWN.as_echo(),
        {k: str(v) for k, v in SHOWN.as_echo().items()},
        {**SHOWN.as_echo(), "more": "\0"},
    ],
)
def test_an_exact_echo_matches(echo: dict[str, Any]) -> None:
    assert is_complete_echo(echo)
    assert echo_matches(echo, SHOWN)


@pytest.mark.parametrize(
    "change",
    [
        {"action_hash": "v1:" + "A" * 64},
        {"action_hash": "v1:" + "a" * 64 + " "},
        {"policy_version": 4},
        {"policy_version": "03"},
        {"policy_version": 3.0},
        {"policy_version": True},
        {"policy_version": 10**5000},
        {"policy_version": [3]},
        {"run_version": "7.2"},
        {"run_version": 7.1},
        {"run_version": None},
    ],
)
def test_any_other_echo_does_not(change: dict[str, Any]) -> None:
    assert not echo_matches({**SHOWN.as_echo(), **change}, SHOWN)


@pytest.mark.parametrize(
    "echo", [None, {}, [], "v1", 5, {"action_hash": "v1"}, [("action_hash", "x")]]
)
def test_what_is_no_whole_echo(echo: object) -> None:
    assert not is_complete_echo(echo)
    assert not echo_matches(echo, SHOWN)
