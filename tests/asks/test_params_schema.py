"""A schema of an agent's leads nowhere but to an answer, however it is nested."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from asks.actions.binding import MAX_DEPTH
from asks.actions.schema import Flaw, find_flaws, usable_schema

T = TypeVar("T")

TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "inner": {"$ref": "#"}},
    "additionalProperties": False,
}
NOT_FOLLOWED = [Flaw("", "The tool's schema cannot be evaluated, so this cannot be validated.")]


def tree(levels: int, name: object) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name}
    for _ in range(levels - 1):
        made = {"inner": made}
    return made


def from_depth(depth: int, call: Callable[[], T]) -> T:
    return call() if depth == 0 else from_depth(depth - 1, call)


def test_params_as_deep_as_they_may_be_are_checked_to_the_bottom() -> None:
    assert usable_schema(TREE) == TREE
    assert find_flaws(TREE, tree(MAX_DEPTH, "leaf")) == []
    path = ".".join(["inner"] * (MAX_DEPTH - 1) + ["name"])
    assert find_flaws(TREE, tree(MAX_DEPTH, 7)) == [Flaw(path, "It must be text.")]


@pytest.mark.parametrize(
    "circle",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ],
)
def test_a_circle_is_left_before_python_runs_out_of_stack(circle: dict[str, Any]) -> None:
    """Where that happens depends on who calls: under a profiler, in a third of all places inside
    Rust, which panics."""
    for depth in range(30):
        with cProfile.Profile():
            assert from_depth(depth, lambda: find_flaws(circle, {"amount": 1})) == NOT_FOLLOWED


def test_as_many_flaws_are_told_as_a_person_reads() -> None:
    schema = {"items": {"type": "string"}, "type": "array"}
    assert len(find_flaws(schema, list(range(100)))) == 20
    assert find_flaws(schema, [1]) == [Flaw("[0]", "It must be text.")]


def test_checks_that_are_broken_off_do_not_add_up() -> None:
    """``not``, ``anyOf`` and ``if`` leave a check at its first flaw, here three hundred times."""
    inner = {"allOf": [{"type": "string"}, {"type": "string"}]}
    schema = {"items": {"not": inner, "anyOf": [inner, {"type": "integer"}], "if": inner}}
    assert find_flaws(schema, list(range(300))) == []


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2026-02-28"], ["2026-02-30", "tomorrow", "20260228", "2026-2-28", ""]),
        ("time", ["09:30:00Z", "23:59:59.123456789+02:00"], ["09:30:00", "25:00:00Z", "noon"]),
        (
            "date-time",
            ["2026-02-28T09:30:00Z", "2026-02-28t09:30:00.5-03:00"],
            ["2026-02-28", "2026-02-28T09:30:00", "2026-02-30T09:30:00Z", "now"],
        ),
        ("duration", ["P3D", "PT30M", "P1Y2M3DT4H5M6S", "P2W"], ["P", "3D", "PT", "1 hour"]),
        ("email", ["a@example.org"], ["a", "a@", "@example.org", "a b@example.org"]),
        (
            "uuid",
            ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"],
            ["2eb8aa08", "2eb8aa08aa9811eab4aa73b441d16380"],
        ),
        ("uri", ["https://example.org/a?b", "urn:isbn:1"], ["example.org", "http://", "a b:c"]),
        ("hostname", ["a.example.org"], ["-a.org", "a..b", "a_b.org", ""]),
        ("ipv4", ["127.0.0.1"], ["127.0.0", "256.0.0.1"]),
        ("ipv6", ["::1"], ["::g", "1", "fe80::1%eth0"]),
    ],
)
def test_formats_are_asserted_and_the_field_is_named(
    name: str, good: list[str], bad: list[str]
) -> None:
    schema = {"type": "object", "properties": {"it": {"type": "string", "format": name}}}
    for value in good:
        assert find_flaws(schema, {"it": value}) == []
    for value in bad:
        (flaw,) = find_flaws(schema, {"it": value})
        assert flaw.path == "it"
        assert flaw.why.startswith("It must be ")
    assert find_flaws(schema, {"it": "\u0661"}) != [], "digits of other scripts are no digits"


def test_a_format_that_nobody_knows_rejects_nothing() -> None:
    assert find_flaws({"properties": {"it": {"format": "colour"}}}, {"it": "red"}) == []
    assert find_flaws({"properties": {"it": {"format": "date"}}}, {"it": 7}) == []
