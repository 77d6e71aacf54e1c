"""The agents of the small worlds that are defined in Python, as an owner and the drivers meet them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import controls
from agents.lifecycle import AgentState, Outcome
from agents.models import Agent, Session
from agents.registration import open_session, register_agent
from tests.eve.runtime.world import approve, carry_all, deny, last_report, open_asks, say
from tests.factories import home_of, verdict_on
from workspace.demo import worlds

pytestmark = pytest.mark.django_db


@pytest.fixture
def conformance(owner: User) -> Session:
    settings = {"agent": "workspace.demo.eve_agents:conformance"}
    return open_session(
        register_agent(
            slug="conf",
            owners=[owner],
            runtime_key="eve",
            settings=settings,
            lifecycle=AgentState.ACTIVE,
        )
    )


def test_it_echoes(conformance: Session, owner: User) -> None:
    say(conformance, owner, "hello")
    assert last_report(conformance) == "echo: hello"


def test_it_calls_and_says_what_the_call_gave_back(conformance: Session, owner: User) -> None:
    say(conformance, owner, 'call refund {"chargeId":"ch_1","amount":12.5}')
    approve(open_asks(conformance)[0], owner)
    assert last_report(conformance) == '{"refunded": "ch_1", "amount": 12.5}'


@pytest.mark.parametrize(("amount", "asks"), [(10, 0), (1000, 0), (2000, 1)])
def test_its_predicate(conformance: Session, owner: User, amount: int, asks: int) -> None:
    say(conformance, owner, f'call pred_tool {{"amount":{amount}}}')
    assert len(open_asks(conformance)) == asks


def test_it_asks_once(conformance: Session, owner: User) -> None:
    say(conformance, owner, 'call once_tool {"n":1}')
    approve(open_asks(conformance)[0], owner)
    say(conformance, owner, 'call once_tool {"n":2}')
    assert last_report(conformance) == '{"done": 2}'


@pytest.mark.parametrize("word", ["question", "prompt"])
def test_it_asks_questions_several_in_a_step(conformance: Session, owner: User, word: str) -> None:
    options = '[{"id":"eu","label":"EU; Europe"},{"id":"us","label":"US"}]'
    one = f'ask {{"{word}":"Which ledger; ask anyone?","options":{options}}}'
    say(conformance, owner, f'{one}; ask {{"{word}":"What name?"}}')
    first, second = open_asks(conformance)
    verdict_on(first, owner, option="us")
    verdict_on(second, owner, text="Alice")
    carry_all()
    said = last_report(conformance)
    assert '{"status": "answered", "optionId": "us"}' in said
    assert '{"status": "answered", "text": "Alice"}' in said


def billing(owner: User, decide: Any, note_text: str = "") -> str:
    """The words of the agent once its refund is decided and its question answered."""
    worlds._billing_agent(owner)
    session = home_of(Agent.objects.get(slug="billing"))
    controls.start_session(session_id=session.pk, by=owner)
    assert [one.outcome for one in carry_all()] == [Outcome.BLOCKED]
    refund, note = open_asks(session)
    assert refund.gate.params == {"charge": "ch_8FQ2", "amount": 48.0, "currency": "EUR"}
    verdict_on(note, owner, **({"text": note_text} if note_text else {"option": "goodwill"}))
    decide(refund, owner)
    return last_report(session)


def test_the_demos_billing_agent_pays_back_what_was_approved(owner: User) -> None:
    assert billing(owner, approve) == (
        "Refunded 48.00 EUR for ch_8FQ2, with “goodwill” on the credit note."
    )


def test_the_demos_billing_agent_pays_nothing_back_when_denied(owner: User) -> None:
    said = billing(owner, lambda asked, by: deny(asked, by, "They did not."), "Sorry")
    assert said.startswith("Nothing was refunded. Tool execution was denied.")
    assert '"They did not."' in said
