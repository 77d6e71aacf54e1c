"""When a call asks: never, once in a session, always, by a predicate, and where a policy asks more."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from pydantic_ai.messages import TextPart

from agents.registration import open_session
from asks.policies.versions import add_version
from tests.eve.runtime.agents import APPROVERS
from tests.eve.runtime.world import (
    Brain,
    approve,
    call,
    deny,
    open_asks,
    say,
    session_for,
)

pytestmark = pytest.mark.django_db
BYE = [TextPart("Bye.")]


def test_once_is_remembered_after_an_approval_and_per_session(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("ship", n=1)], BYE, [call("ship", n=2)], BYE, [call("ship", n=3)])
    session = session_for(owner, brain)
    say(session, owner)
    approve(open_asks(session)[0], owner)
    say(session, owner)
    assert effects == [("ship", 1), ("ship", 2)]
    assert APPROVERS[-2:] == [owner.username, ""]
    other = open_session(session.agent)
    say(other, owner)
    assert effects == [("ship", 1), ("ship", 2)]
    assert len(open_asks(other)) == 1


@pytest.mark.case("eve-once-denied")
def test_once_is_not_remembered_after_a_denial_or_a_message(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("ship", n=1)], BYE, [call("ship", n=2)], BYE, [call("ship", n=3)])
    session = session_for(owner, brain)
    say(session, owner)
    deny(open_asks(session)[0], owner)
    say(session, owner)
    assert len(open_asks(session)) == 1
    say(session, owner, "Something else.")
    say(session, owner)
    assert len(open_asks(session)) == 1
    assert effects == []


@pytest.mark.case("eve-once-pending")
def test_approving_once_does_not_approve_what_waits_already(
    owner: User, effects: list[Any]
) -> None:
    brain = Brain([call("ship", "a", n=1), call("ship", "b", n=2)])
    session = session_for(owner, brain)
    say(session, owner)
    one, two = open_asks(session)
    approve(one, owner)
    assert effects == []
    assert open_asks(session) == [two]
    deny(two, owner)
    assert effects == [("ship", 1)]


@pytest.mark.parametrize(("amount", "asks"), [(10.0, 0), (1000.0, 0), (1000.01, 1)])
def test_a_predicate_decides_by_the_input(
    owner: User, effects: list[Any], amount: float, asks: int
) -> None:
    session = session_for(owner, Brain([call("pay", amount=amount)]))
    say(session, owner)
    assert len(open_asks(session)) == asks
    assert len(effects) == 1 - asks


@pytest.mark.case("eve-predicate")
def test_a_predicate_that_raises_asks(owner: User, effects: list[Any]) -> None:
    session = session_for(owner, Brain([call("guarded", n=1)]))
    say(session, owner)
    assert effects == []
    approve(open_asks(session)[0], owner)
    assert effects == [("guarded", 1)]


def rules(session: Any, owner: User, *found: dict[str, Any]) -> None:
    document = {"rules": list(found)}
    add_version(agent_id=session.agent_id, rules=document, why="For the test", by=owner)


def test_a_policy_asks_where_a_tool_does_not(owner: User, effects: list[Any]) -> None:
    session = session_for(owner, Brain([call("look_up", charge_id="ch_1")]))
    rules(session, owner, {"operation": "look_*", "approval": "always"})
    say(session, owner)
    assert effects == []
    approve(open_asks(session)[0], owner)
    assert effects == [("look_up", "ch_1")]


def test_a_policy_never_takes_away_what_a_tool_asks(owner: User, effects: list[Any]) -> None:
    session = session_for(owner, Brain([call("ship", n=1)]))
    rules(session, owner, {"operation": "ship", "approval": "never"})
    say(session, owner)
    assert len(open_asks(session)) == 1
    deny(open_asks(session)[0], owner)
    assert effects == []
