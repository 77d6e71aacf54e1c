"""The turns of one piece of work, with the cost of each and their total.

A turn that asked is followed by the one that carries the answer; one that failed, by the next try.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from agents.lifecycle import RunStatus
from agents.models import Run, Session

LONGEST = 100
"""The maximum number of turns; of a longer chain only the newest count."""

_GOES_ON = frozenset({RunStatus.CONTINUED, RunStatus.FAILED})


@dataclass(frozen=True)
class TurnFacts:
    number: int
    status: str
    cost: float | None


@dataclass(frozen=True)
class ChainFacts:
    """``ceiling`` is the cost limit of one turn in USD, if set; ``at_most`` that of all turns."""

    turns: tuple[TurnFacts, ...]
    cost: float
    ceiling: float | None

    @property
    def at_most(self) -> float | None:
        return None if self.ceiling is None else self.ceiling * len(self.turns)


def chain_of(session: Session) -> ChainFacts | None:
    """Return the session's last chain, newest turn first; None if it reports no cost. One query."""
    runs = Run.objects.filter(session=session).order_by("-number")[:LONGEST]
    turns: list[TurnFacts] = []
    for number, status, usage in runs.values_list("number", "status", "usage"):
        if turns and status not in _GOES_ON:
            break
        turns.append(TurnFacts(number, str(RunStatus(status).label), _cost(usage)))
    costs = [turn.cost for turn in turns if turn.cost is not None]
    if not costs:
        return None
    ceiling = _amount(session.agent.settings.get("max_usd_per_run"))
    return ChainFacts(tuple(turns), sum(costs), ceiling)


def _cost(usage: Any) -> float | None:  # noqa: ANN401 -- whatever a runtime reported
    return _amount(usage.get("cost_usd")) if isinstance(usage, dict) else None


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
