"""Who may use the leaf doors, and who decides: a person, never an agent's key."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, Session
from asks.models import Refusal, Verdict
from tests.factories import AgentFactory
from tests.leaf.world import ITEM, Orchestrator, key_for, leaf_agent, session_of

pytestmark = pytest.mark.django_db

ENVELOPE = {"sessionId": "run/1", "item": ITEM}
APPROVE = {"gateId": 0, "action": "approve"}


def test_nobody_gets_in_without_a_key(agent: Agent) -> None:
    for token in ("", "nonsense", "ny_000000000000_" + "x" * 43):
        sent = Orchestrator(token).send(ENVELOPE)
        assert sent.status_code == 401
        assert sent.json()["error"] == "unauthorized"  # type: ignore[attr-defined]
        assert Orchestrator(token).ask_status(sessionId="run/1").status_code == 401
    assert not Session.objects.filter(is_home=False).exists()


def test_a_key_needs_the_scope(agent: Agent, owner: User) -> None:
    reader = Orchestrator(key_for(agent, owner, ("run:read",)))

    assert reader.send(ENVELOPE).status_code == 403
    assert reader.status()["known"] is False


@pytest.mark.case("C71", "leaf-X6")
@pytest.mark.parametrize("sent", [APPROVE, {"gateId": 0, "action": "nonsense"}, "approve"])
def test_an_agents_key_never_decides(
    orchestrator: Orchestrator, agent: Agent, sent: object
) -> None:
    orchestrator.run()
    own = Orchestrator(key_for(agent, None, ("run:create", "run:read"), "the agent's own"))

    refused = own.send({**ENVELOPE, "decision": sent})

    assert refused.status_code == 403
    assert refused.json()["error"] == "agents_never_answer"  # type: ignore[attr-defined]
    assert "self-approval" in Refusal.objects.get().detail
    assert orchestrator.status()["status"] == "paused"


def test_a_persons_key_without_the_scope_does_not_decide(
    orchestrator: Orchestrator, agent: Agent, owner: User
) -> None:
    orchestrator.run()
    starter = Orchestrator(key_for(agent, owner, ("run:create",), "starter"))

    assert starter.send({**ENVELOPE, "decision": APPROVE}).status_code == 403
    assert not Verdict.objects.exists()


@pytest.mark.case("C72", "leaf-X6")
def test_who_decided_is_known_from_the_key(
    orchestrator: Orchestrator, agent: Agent, owner: User
) -> None:
    orchestrator.run()

    orchestrator.run(decision={**APPROVE, "decided_by": "ceo", "approver": "ceo"})

    verdict = Verdict.objects.get()
    assert verdict.decided_by == owner
    assert verdict.via == "leaf"
    assert verdict.decided_at is not None


def test_a_key_reaches_its_own_agent_only(
    orchestrator: Orchestrator, agent: Agent, stranger: User
) -> None:
    orchestrator.run()
    other = leaf_agent(stranger, slug="other")
    theirs = Orchestrator(key_for(other, stranger, name="theirs"))

    assert theirs.status("run/1")["known"] is False
    theirs.send({**ENVELOPE, "async": True, "decision": APPROVE})

    assert orchestrator.status()["status"] == "paused"
    assert Session.objects.filter(is_home=False).count() == 2
    assert not Verdict.objects.exists()


def test_a_person_with_several_agents_names_one(owner: User, agent: Agent) -> None:
    leaf_agent(owner, slug="second")
    mine = Orchestrator(key_for(None, owner))

    unnamed = mine.send({**ENVELOPE, "async": True})
    assert unnamed.status_code == 400
    assert unnamed.json()["error"] == "agent_required"  # type: ignore[attr-defined]
    assert mine.send({**ENVELOPE, "async": True, "agent": "second"}).status_code == 202
    assert mine.ask_status(sessionId="run/1", agent="second").status_code == 200
    assert mine.send({**ENVELOPE, "agent": "nobody"}).status_code == 403


def test_other_agents_serve_no_leaf_sessions(owner: User) -> None:
    key = key_for(AgentFactory(owners=[owner]), owner)

    assert Orchestrator(key).send(ENVELOPE).status_code == 403


def test_a_retired_agent_starts_nothing(
    orchestrator: Orchestrator, agent: Agent, owner: User
) -> None:
    from asks.retirement import retire_agent

    retire_agent(agent_id=agent.pk, by=owner)

    sent = orchestrator.send({**ENVELOPE, "async": True})

    assert sent.status_code == 409
    assert sent.json()["error"] == "agent_retired"  # type: ignore[attr-defined]


def test_a_session_in_a_browser_opens_nothing(owner: User, agent: Agent) -> None:
    from django.test import Client

    signed_in = Client()
    signed_in.force_login(owner)

    assert signed_in.post("/runs", ENVELOPE, content_type="application/json").status_code == 401


def test_what_is_too_large_is_refused(orchestrator: Orchestrator, agent: Agent) -> None:
    huge = {**ENVELOPE, "padding": "x" * 300_000}

    assert orchestrator.send(huge).status_code == 413
    assert not Session.objects.filter(is_home=False).exists()


def test_feedback_that_cannot_be_kept_is_refused(orchestrator: Orchestrator, agent: Agent) -> None:
    orchestrator.run()
    for words in ("x" * 20_000, "nul \0", "half \ud800"):
        told = orchestrator.decide(0, "approve", words)
        assert told["refused"]["reason"] in ("invalid", "no_decision")
        assert told["status"] == "paused"
    assert session_of(agent).open_asks == 1
