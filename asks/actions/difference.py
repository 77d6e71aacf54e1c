"""Compare an ask with its replacement, for the person who saw the first and must answer the second."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.text.canonical_json import Json
from asks.actions import binding
from asks.models import Ask, Policy

Sign = Literal["", "-", "+"]
#: Longer texts are compared by lines. Further changed values are left out.
MOST_WORDS = 3000
MOST_CHANGES = 100
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """A part of a text: in both texts (""), only in the old one ("-") or only in the new one ("+")."""

    sign: Sign
    text: str


@dataclass(frozen=True)
class ValueChange:
    """A value that differs, with a path like ``to.address[0]``. A missing side is None."""

    path: str
    before: Any
    now: Any
    gone: bool = False
    new: bool = False


@dataclass(frozen=True)
class Difference:
    """The changed parts of an ask. Unchanged parts are empty."""

    prompt: tuple[Piece, ...] = ()
    params: tuple[ValueChange, ...] = ()
    files: tuple[ValueChange, ...] = ()
    operation: tuple[str, str] | None = None
    policy: tuple[int, int] | None = None
    policy_whys: tuple[str, ...] = ()
    rules: tuple[ValueChange, ...] = ()
    run: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        moved = (self.prompt, self.params, self.files, self.operation, self.policy, self.run)
        return any(moved)


def compare_asks(before: Ask, now: Ask) -> Difference:
    """Return every difference between two asks and their gates."""
    was, present = binding.gate_of(before), binding.gate_of(now)
    prompt = compare_words(before.prompt, now.prompt) if before.prompt != now.prompt else ()
    if was is None or present is None:
        return Difference(prompt=prompt)
    policy = (was.policy_version, present.policy_version)
    return Difference(
        prompt=prompt,
        params=tuple(compare_values(was.params, present.params))[:MOST_CHANGES],
        files=tuple(compare_values(was.files, present.files)),
        operation=_moved(was.operation, present.operation),
        policy=_moved(*policy),
        **_policies(now.agent_id, *policy),
        run=_moved(was.run_version, present.run_version),
    )


def _moved(before: Json, now: Json) -> Json:
    return (before, now) if before != now else None


def _policies(agent_id: int, before: int, now: int) -> dict[str, Any]:
    """Return the reasons for the policy changes and the changed rules. No query without a change."""
    if before == now:
        return {}
    rows = Policy.objects.filter(agent=agent_id, version__in=[before, *range(before + 1, now + 1)])
    policies = {row.version: row for row in rows}
    whys = tuple(policies[version].why for version in sorted(policies) if version > before)
    rules = [policies[version].rules if version in policies else {} for version in (before, now)]
    return {"policy_whys": whys, "rules": tuple(compare_values(*rules))[:MOST_CHANGES]}


def compare_words(before: str, now: str) -> tuple[Piece, ...]:
    """Merge two texts into one sequence of common, removed and added pieces."""
    split = _WORD.findall
    if len(before) + len(now) > MOST_WORDS * 4 or len(split(before)) + len(split(now)) > MOST_WORDS:
        return tuple(_pieces(before.splitlines(keepends=True), now.splitlines(keepends=True)))
    return tuple(_pieces(split(before), split(now)))


def _pieces(before: Sequence[str], now: Sequence[str]) -> Iterator[Piece]:
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    for what, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if what == "equal":
            yield Piece("", "".join(now[b_from:b_to]))
            continue
        if a_to > a_from:
            yield Piece("-", "".join(before[a_from:a_to]))
        if b_to > b_from:
            yield Piece("+", "".join(now[b_from:b_to]))


def compare_values(before: Json, now: Json, path: str = "") -> Iterator[ValueChange]:
    """Yield every difference between two JSON values, with its path."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            yield from _inside(before, now, key, f"{path}.{key}" if path else str(key))
    elif isinstance(before, list) and isinstance(now, list):
        for place in range(max(len(before), len(now))):
            yield from _item(before, now, place, f"{path}[{place}]")
    elif type(before) is not type(now) or before != now:
        yield ValueChange(path, before, now)


def _inside(
    before: dict[str, Any], now: dict[str, Any], key: str, path: str
) -> Iterator[ValueChange]:
    if key not in now:
        yield ValueChange(path, before[key], None, gone=True)
    elif key not in before:
        yield ValueChange(path, None, now[key], new=True)
    else:
        yield from compare_values(before[key], now[key], path)


def _item(before: list[Any], now: list[Any], place: int, path: str) -> Iterator[ValueChange]:
    if place >= len(now):
        yield ValueChange(path, before[place], None, gone=True)
    elif place >= len(before):
        yield ValueChange(path, None, now[place], new=True)
    else:
        yield from compare_values(before[place], now[place], path)
