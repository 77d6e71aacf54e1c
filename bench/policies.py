"""Measure the cost of authority: answers with and without policy, grant and ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

from django.contrib.auth.models import User

from agents.models import Agent
from asks.actions import grants
from asks.ledger import chain
from asks.policies import versions
from bench.figures import Figure
from tests.ledger.world import Draft, agent_of, ask_of, decide, home, person

PARAMS = {"order": 1182, "amount": "420.00", "currency": "EUR", "to": "customer 77"}
RULES = {
    "terms": {"expires_after": "P2D", "reason_for": ["danger"]},
    "rules": [
        {"operation": "*", "approval": "when", "when": "params.order > 1000", "four_eyes": "off"}
    ],
}


def measure(runs: int) -> list[Figure]:
    """Alternate answers with and without, so that noise affects both."""
    owner = person("policy-owner")
    ours: list[float] = []
    yardstick: list[float] = []
    for number in range(max(runs, 7) * 10):
        agent = agent_of(owner)
        bare = bool(number % 2)
        if not bare:
            _put_in_force(agent, owner)
        (yardstick if bare else ours).append(_answer(agent, owner, bare=bare))
    return [Figure("policy and ledger: answer with them / without", ours, yardstick, target=1.5)]


def _put_in_force(agent: Agent, owner: User) -> None:
    versions.add_version(agent_id=agent.pk, rules=RULES, why="Measured.", by=owner)


def _answer(agent: Agent, owner: User, *, bare: bool) -> float:
    (ask,) = ask_of(home(agent), owner, Draft(params=PARAMS))
    with _without() if bare else nullcontext():
        started = time.perf_counter()
        decide(ask, owner)
        return (time.perf_counter() - started) * 1000


@contextmanager
def _without() -> Iterator[None]:
    """Answer without a policy, a grant and a record."""
    with (
        patch.object(chain, "append_verdict", lambda *_: None),
        patch.object(grants, "mint_grant", lambda *_: None),
        patch.object(versions, "version_in_force", lambda _: 0),
    ):
        yield
