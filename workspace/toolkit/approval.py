"""When a tool waits for a person's approval: never, once in a session, always, or by a predicate."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Proposal:
    """A call that a model proposes.

    ``tool_input`` is checked JSON, named as the model names it. ``approved_tools`` are the tools that
    a person has approved in this session before, in so many words.
    """

    tool_name: str
    tool_input: dict[str, Any]
    approved_tools: frozenset[str]


#: Whether a proposed call needs an approval. It may be a coroutine function.
Needs = Callable[[Proposal], bool | Awaitable[bool]]


def never() -> Needs:
    """It runs without asking. The default."""
    return _never


def once() -> Needs:
    """It asks until a person has approved it in this session; then it runs without asking."""
    return _once


def always() -> Needs:
    """It asks before every call."""
    return _always


def _never(_: Proposal) -> bool:
    return False


def _once(proposal: Proposal) -> bool:
    return proposal.tool_name not in proposal.approved_tools


def _always(_: Proposal) -> bool:
    return True


async def needs_approval(needs: Needs, proposal: Proposal) -> bool:
    """Whether a call waits for a person. A predicate that raises, or gives no bool, asks."""
    try:
        found = needs(proposal)
        if inspect.isawaitable(found):
            found = await found
    except Exception:  # noqa: BLE001 -- whatever it is, a person decides
        return True
    return found is not False
