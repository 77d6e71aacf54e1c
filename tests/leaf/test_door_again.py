"""What a session is to its orchestrator besides one call: tried again, answered elsewhere, tidied up."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, Run
from asks.models import Ask, Gate
from tests.leaf.world import (
    ITEM,
    UNGATED,
    Brain,
    Orchestrator,
    ask_approval,
    carry_all,
    key_for,
    kinds,
    leaf_agent,
    say,
    session_of,
    submit,
)

pytestmark = pytest.mark.django_db

ENVELOPE = {"sessionId": "run/1", "item": ITEM}


def test_the_same_envelope_again_tries_what_came_to_no_end(owner: User) -> None:
    agent = leaf_agent(owner, model="second")
    Brain("second", [say()], [submit()])
    orchestrator = Orchestrator(key_for(agent, owner))
    orchestrator.send({"sessionId": "run/1", "item": UNGATED, "async": True})
    carry_all()
    assert orchestrator.status()["status"] == "failed"

    orchestrator.send({"sessionId": "run/1", "item": UNGATED, "async": True})
    carry_all()

    assert orchestrator.status()["status"] == "done"


def test_what_was_given_up_goes_on_for_a_persons_key_only(owner: User) -> None:
    agent = leaf_agent(owner, model="away", max_attempts=1)
    brain = Brain("away", [OSError("away")])
    envelope = {"sessionId": "run/1", "item": UNGATED, "async": True}
    program = Orchestrator(key_for(agent, None, ("run:create", "run:read"), "program"))
    program.send(envelope)
    carry_all()
    assert program.status()["status"] == "failed"
    brain._responses = [[submit()]]

    program.send(envelope)
    assert not carry_all()
    Orchestrator(key_for(agent, owner)).send(envelope)
    carry_all()

    assert program.status()["status"] == "done"


def test_an_envelope_may_ask_for_a_model_that_is_offered(owner: User) -> None:
    agent = leaf_agent(owner, model="own", models={"other": "theirs"})
    own, theirs = Brain("own", [submit("CLEAR")]), Brain("theirs", [submit("FLAGGED")])
    orchestrator = Orchestrator(key_for(agent, owner))
    for name in ("other", "openai:gpt-x", ""):
        orchestrator.run(f"run/{name}", model=name, item=UNGATED)

    assert (own.calls, theirs.calls) == (2, 1)


def test_the_owner_answers_on_the_page_what_the_orchestrator_started(
    orchestrator: Orchestrator, agent: Agent, owner: User
) -> None:
    from asks.answering import answer_ask
    from tests.factories import echo_of

    orchestrator.run()
    ask = Ask.objects.get(agent=agent, status="open")
    answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    carry_all()

    assert orchestrator.status()["status"] == "done"
    assert "refused" not in orchestrator.decide(0, "approve")


@pytest.mark.case("leaf-X13")
def test_a_run_leaves_no_queue_behind(orchestrator: Orchestrator, agent: Agent) -> None:
    orchestrator.run()
    orchestrator.decide(0, "approve")

    session = session_of(agent)
    assert not session.inbox.exclude(state="acked").exists()
    assert not Run.objects.filter(session=session, status__in=("queued", "running")).exists()
    assert kinds(session).count("asked") == Gate.objects.filter(session=session).count() == 1


@pytest.mark.case("leaf-X12")
def test_what_waits_is_listed_without_knowing_any_session(
    orchestrator: Orchestrator, agent: Agent, owner: User
) -> None:
    from asks.queue import queries

    for name in ("a", "b", "c"):
        orchestrator.run(name)

    assert [ask.session.title for ask in queries.needs_you(owner).asks] == ["i1 in a.py"] * 3
    assert queries.count_badge(owner) == 3


def test_the_workspace_needs_no_gate_to_be_asked_twice(owner: User) -> None:
    agent = leaf_agent(owner, model="eager")
    Brain("eager", [ask_approval(), ask_approval()])
    orchestrator = Orchestrator(key_for(agent, owner))

    assert orchestrator.run()["gateId"] == 0
    assert Gate.objects.filter(session=session_of(agent)).count() == 1
