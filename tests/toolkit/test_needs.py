"""Whether a proposed call needs an approval: the helpers, and predicates that go wrong."""

from __future__ import annotations

from typing import Any

import pytest

from workspace.toolkit import Needs, Proposal, always, never, once
from workspace.toolkit.approval import needs_approval


def proposal(*approved: str) -> Proposal:
    return Proposal("refund", {"amount": 5}, frozenset(approved))


@pytest.mark.parametrize(
    ("needs", "approved", "asks"),
    [
        (never(), (), False),
        (always(), ("refund",), True),
        (once(), (), True),
        (once(), ("pay",), True),
        (once(), ("refund",), False),
        (lambda found: found.tool_input["amount"] > 5, (), False),
        (lambda found: found.tool_input["amount"] > 4, (), True),
    ],
)
async def test_what_asks(needs: Needs, approved: tuple[str, ...], asks: bool) -> None:
    assert await needs_approval(needs, proposal(*approved)) is asks


def raises(found: Proposal) -> bool:
    return bool(found.tool_input["no such field"])


async def asynchronous(found: Proposal) -> bool:
    return found.tool_name != "refund"


async def asynchronous_and_broken(found: Proposal) -> bool:
    raise RuntimeError(found.tool_name)


async def test_a_predicate_that_raises_asks() -> None:
    assert await needs_approval(raises, proposal())
    assert await needs_approval(asynchronous_and_broken, proposal())


async def test_a_coroutine_function_is_a_predicate_too() -> None:
    assert await needs_approval(asynchronous, proposal()) is False


@pytest.mark.parametrize("nonsense", [None, 0, "", "no", [], 1])
async def test_only_false_lets_a_call_pass(nonsense: Any) -> None:
    assert await needs_approval(lambda _: nonsense, proposal())
