"""Answers to what an agent asked that are wrong, late or twice: refused, and nothing runs for them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from asks.answering import Answered, answer_ask
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Grant
from asks.refusals import Refused
from tests.eve.runtime.world import (
    Brain,
    approve,
    call,
    carry_all,
    deny,
    open_asks,
    question,
    say,
    session_for,
)
from tests.factories import echo_of

pytestmark = pytest.mark.django_db
LEDGERS = [{"id": "eu", "label": "EU"}, {"id": "us", "label": "US"}]


@pytest.fixture
def refund(owner: User) -> Ask:
    session = session_for(owner, Brain([call("refund", "g1", charge_id="ch_1", amount=1.0)]))
    say(session, owner)
    return open_asks(session)[0]


def try_to(asked: Ask, by: User, **answered: Any) -> Any:
    """Answer, and let whatever comes of it run."""
    result = answer_ask(ask_id=asked.pk, by=by, **answered)
    carry_all()
    asked.refresh_from_db()
    return result


@pytest.mark.case("eve-unknown-option", "eve-text-only")
@pytest.mark.parametrize(
    ("answered", "reason"),
    [
        ({"option": "maybe"}, Reason.UNKNOWN_OPTION),
        ({"option": "Yes"}, Reason.UNKNOWN_OPTION),
        ({"option": "cancel"}, Reason.UNKNOWN_OPTION),
        ({"text": "yes"}, Reason.EMPTY),
        ({}, Reason.EMPTY),
    ],
)
def test_what_was_not_offered_is_refused_and_the_approval_stays_open(
    refund: Ask, owner: User, effects: list[Any], answered: dict[str, str], reason: Reason
) -> None:
    result = try_to(refund, owner, echo=echo_of(refund), **answered)
    assert isinstance(result, Refused)
    assert result.reason == reason
    assert refund.status == AskStatus.OPEN
    assert effects == []


@pytest.mark.case("eve-repeat", "eve-late")
def test_the_first_answer_stands_and_the_call_runs_once(
    refund: Ask, owner: User, colleague: User, effects: list[Any]
) -> None:
    refund.agent.owners.add(colleague)
    echo = echo_of(refund)
    approve(refund, owner)
    assert isinstance(try_to(refund, colleague, option="deny", echo=echo), Refused)
    assert isinstance(try_to(refund, colleague, option="approve", echo=echo), Refused)
    again = try_to(refund, owner, option="approve", echo=echo)
    assert isinstance(again, Answered)
    assert again.repeated
    assert len(effects) == 1
    assert Grant.objects.count() == 1


def test_a_denial_cannot_be_turned_into_an_approval(
    refund: Ask, owner: User, effects: list[Any]
) -> None:
    echo = echo_of(refund)
    deny(refund, owner)
    assert isinstance(try_to(refund, owner, option="approve", echo=echo), Refused)
    assert effects == []


@pytest.mark.case("eve-late")
def test_an_answer_after_a_message_has_passed_it_over_is_refused(
    refund: Ask, owner: User, effects: list[Any]
) -> None:
    echo = echo_of(refund)
    say(refund.session, owner, "Leave it.")
    assert isinstance(try_to(refund, owner, option="approve", echo=echo), Refused)
    assert effects == []


def test_an_answer_that_does_not_say_what_it_is_for_is_refused(
    refund: Ask, owner: User, effects: list[Any]
) -> None:
    result = try_to(refund, owner, option="approve")
    assert isinstance(result, Refused)
    assert result.reason == Reason.UNBINDABLE
    assert effects == []


@pytest.mark.case("C14", "eve-unknown-option")
@pytest.mark.parametrize(
    "answered", [{"option": "mars"}, {"text": "mars"}, {}, {"text": " \u200b"}]
)
def test_a_question_with_options_takes_only_those(owner: User, answered: dict[str, str]) -> None:
    session = session_for(owner, Brain([question(call_id="q1", options=LEDGERS)]))
    say(session, owner)
    (asked,) = open_asks(session)
    assert isinstance(try_to(asked, owner, **answered), Refused)
    assert asked.status == AskStatus.OPEN


@pytest.mark.case("C18", "eve-partial")
def test_of_three_questions_each_has_a_state_of_its_own(owner: User) -> None:
    brain = Brain([question(call_id=name) for name in ("q1", "q2", "q3")])
    session = session_for(owner, brain)
    say(session, owner)
    one, two, three = open_asks(session)
    try_to(one, owner, text="1")
    try_to(three, owner, text="3")
    assert open_asks(session) == [two]
    assert brain.calls == 1
    try_to(two, owner, text="2")
    assert brain.told() == {
        "q1": {"status": "answered", "text": "1"},
        "q2": {"status": "answered", "text": "2"},
        "q3": {"status": "answered", "text": "3"},
    }
