"""How much a park and a resume ask of the database: most of what a caller waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents import settlement
from agents.models import Agent
from tests.leaf.world import ALL, ITEM, claimed, play
from workspace.accounts import api_keys
from workspace.protocols.leaf import wire
from workspace.protocols.leaf.server import decisions, sessions, state
from workspace.protocols.leaf.server.facts import LeafFacts

pytestmark = pytest.mark.django_db

#: Statements of each verb, with those that begin and end its transaction.
WANTED = {"open": 7, "claim": 6, "gate": 12, "stand": 2, "glance": 2, "decide": 17, "verdict": 7}


def test_each_verb_asks_no_more_than_this(agent: Agent, owner: User) -> None:
    asked: dict[str, int] = {}

    def counted(name: str, verb: Callable[..., Any], *args: Any) -> Any:
        with CaptureQueriesContext(connection) as queries:
            done = verb(*args)
        asked[name] = len(queries)
        return done

    key, _ = api_keys.create_key(name="caller", scopes=ALL, agent=agent, person=owner)
    for number in (1, 2):  # what is asked once per process is not counted
        envelope = wire.read_envelope(
            wire.compact_json({"sessionId": f"s{number}", "item": ITEM}).encode()
        )
        assert envelope.item is not None
        facts = LeafFacts.of(envelope, envelope.item)
        session = counted("open", sessions.open_once, agent, key, facts)
        turn = counted("claim", claimed, session.runs.latest("number"))
        counted("gate", settlement.settle_run, turn.fence, play(turn)[-1])
        counted("stand", state.current_state, session)
        counted("glance", state.glance, session)
        approval = {"gateId": 0, "action": "approve"}
        assert counted("decide", decisions.decide_gate, session, approval, key) is None
        turn = claimed()
        assert turn is not None
        counted("verdict", settlement.settle_run, turn.fence, play(turn)[-1])
    assert asked == WANTED
