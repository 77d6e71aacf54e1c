"""What a person does to a leaf session besides deciding: writes, starts, takes back."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import Status
from agents.models import Session
from asks import withdrawing
from asks.models import Ask
from asks.queue import queries
from tests.factories import home_of
from tests.leaf.test_runtime import decide, thinking
from tests.leaf.world import (
    ITEM,
    ask_approval,
    carry_all,
    leaf_agent,
    say,
    session_of,
    standing,
    submit,
)
from workspace.protocols.leaf.server import state

pytestmark = pytest.mark.django_db


@pytest.mark.case("C06")
def test_a_persons_message_is_no_decision(owner: User) -> None:
    agent, brain = thinking(owner, [ask_approval("one")], [ask_approval("two")], [submit()])
    carry_all()
    session = session_of(agent)

    messages.post_message(session_id=session.pk, by=owner, text="Actually, explain first.")
    carry_all()

    assert "which is not a decision" in brain.prompts[-1]
    assert brain.tools[-1] == {"request_approval"}
    (waiting,) = Ask.objects.filter(session=session, status="open")
    assert waiting.prompt == "two"
    assert standing(agent).word == "paused"
    decide(agent, owner, "approve")
    carry_all()
    assert standing(agent).word == "done"


def test_a_gate_survives_a_turn_that_only_talked(owner: User) -> None:
    agent, _ = thinking(owner, [ask_approval("one")], [say("Because of the eval.")], [submit()])
    carry_all()

    messages.post_message(session_id=session_of(agent).pk, by=owner, text="Why?")
    carry_all()

    assert standing(agent).word == "paused"
    decide(agent, owner, "approve")
    carry_all()
    assert standing(agent).word == "done"


def test_starting_a_parked_session_runs_nothing_and_keeps_its_gate(owner: User) -> None:
    agent, brain = thinking(owner, [ask_approval("one")], [submit()])
    carry_all()

    controls.start_session(session_id=session_of(agent).pk, by=owner)
    carry_all()

    assert brain.calls == 1
    assert standing(agent).word == "paused"
    assert queries.count_badge(owner) == 1
    decide(agent, owner, "approve")
    carry_all()
    assert standing(agent).word == "done"


def test_a_request_that_was_taken_back_approved_nothing(owner: User) -> None:
    agent, brain = thinking(owner, [ask_approval("one")], [submit()], [ask_approval("two")])
    carry_all()
    ask = Ask.objects.get(agent=agent, status="open")

    withdrawing.withdraw_ask(ask_id=ask.pk, by=owner, reason="Not now.")
    carry_all()

    assert brain.prompts[-1].startswith("Human decision: NONE.")
    assert brain.tools[-1] == {"request_approval"}
    assert standing(agent).word == "paused"
    assert Ask.objects.get(agent=agent, status="open").prompt == "two"


def test_a_person_may_start_a_review_by_a_message(owner: User) -> None:
    agent = leaf_agent(owner)
    home = home_of(agent)

    messages.post_message(session_id=home.pk, by=owner, text="Hello?")
    carry_all()
    assert Session.objects.get(pk=home.pk).status == Status.BLOCKED
    messages.post_message(session_id=home.pk, by=owner, text=json.dumps(ITEM))
    carry_all()

    assert state.current_state(Session.objects.get(pk=home.pk)).word == "paused"
