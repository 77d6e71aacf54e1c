"""A refused decision over /runs and its ledger record are committed together."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, Event
from tests.committed import check_refusals_are_on_record
from tests.leaf.world import ITEM, Orchestrator, key_for, leaf_agent

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_unknown_gate(orchestrator: Orchestrator) -> None:
    orchestrator.run()
    assert orchestrator.decide(7, "approve")["refused"]["reason"] == "no_such_gate"
    check_refusals_are_on_record(1)


def test_a_gate_of_another_session(orchestrator: Orchestrator) -> None:
    """A number names a gate of the session that the envelope names, and no other."""
    orchestrator.run()
    orchestrator.decide(0, "reject", "look again")
    other = orchestrator.run("run/2")
    assert other["gateId"] == 0
    refused = orchestrator.decide(1, "approve", session_id="run/2")["refused"]
    assert refused["reason"] == "no_such_gate"
    check_refusals_are_on_record(1)


def test_a_closed_gate(orchestrator: Orchestrator) -> None:
    orchestrator.run()
    orchestrator.decide(0, "approve")
    assert orchestrator.decide(0, "abort")["refused"]["reason"] == "closed"
    check_refusals_are_on_record(1)


def test_a_decision_that_is_none_is_no_refusal(orchestrator: Orchestrator) -> None:
    orchestrator.run()
    assert orchestrator.decide(0, "maybe")["refused"]["reason"] == "no_decision"
    assert Event.objects.filter(kind="ignored").count() == 1
    check_refusals_are_on_record(0)


def test_a_key_of_an_agent(orchestrator: Orchestrator, agent: Agent) -> None:
    orchestrator.run()
    program = Orchestrator(key_for(agent, None, ("run:create", "run:read"), "program"))
    for number in (0, 7):
        decision = {"gateId": number, "action": "approve"}
        sent = program.send(
            {"sessionId": "run/1", "item": ITEM, "async": True, "decision": decision}
        )
        assert sent.status_code == 403
    check_refusals_are_on_record(2)


def test_a_key_of_a_stranger_reaches_no_session(orchestrator: Orchestrator, stranger: User) -> None:
    orchestrator.run()
    program = Orchestrator(key_for(leaf_agent(stranger, "other"), stranger, name="stranger"))
    decision = {"gateId": 0, "action": "approve"}
    sent = program.send({"sessionId": "run/1", "item": ITEM, "async": True, "decision": decision})
    assert sent.json()["refused"]["reason"] == "no_such_gate"  # type: ignore[attr-defined]
    check_refusals_are_on_record(1)
