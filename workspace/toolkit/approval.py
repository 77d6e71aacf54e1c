"""When a tool needs a person's approval: never, once per session, always, or by a predicate."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Proposal:
    """A call that a model proposes.

    ``tool_input`` is validated JSON; its keys are the names that the model uses. ``approved_tools``
    are the tools that a person has explicitly approved in this session.
    """

    tool_name: str
    tool_input: dict[str, Any]
    approved_tools: frozenset[str]


#: Decides whether a proposed call needs approval. It may be a coroutine function.
Needs = Callable[[Proposal], bool | Awaitable[bool]]


def never() -> Needs:
    """Run the tool without approval. This is the default."""
    return _never


def once() -> Needs:
    """Require approval until a person has approved the tool once in the session."""
    return _once


def always() -> Needs:
    """Require approval for every call."""
    return _always


def _never(_: Proposal) -> bool:
    return False


def _once(proposal: Proposal) -> bool:
    return proposal.tool_name not in proposal.approved_tools


def _always(_: Proposal) -> bool:
    return True


async def needs_approval(needs: Needs, proposal: Proposal) -> bool:
    """Return whether a call needs approval. It does unless the predicate returns False."""
    try:
        answer = needs(proposal)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception:  # noqa: BLE001 -- fail closed: a person decides
        return True
    return answer is not False
