"""An answer and a message at the same moment: whichever is first, the call is not made."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import messages
from agents.models import Session
from asks.answering import Answered, answer_ask
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.refusals import Refused
from tests.eve.runtime.world import Brain, call, carry_all, open_asks, say, session_for
from tests.factories import echo_of
from tests.races.racing import race
from workspace.protocols.eve.agent import texts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brain() -> Brain:
    return Brain([call("refund", "g1", charge_id="ch_1", amount=1.0)])


@pytest.fixture
def session(owner: User, brain: Brain) -> Session:
    found = session_for(owner, brain)
    say(found, owner)
    return found


def approving(asked: Ask, owner: User) -> Any:
    return partial(answer_ask, ask_id=asked.pk, by=owner, option="approve", echo=echo_of(asked))


def saying(session: Session, owner: User) -> Any:
    return partial(messages.post_message, session_id=session.pk, by=owner, text="Explain first.")


def test_an_answer_that_is_first_is_kept_and_the_message_ends_its_approval(
    session: Session, owner: User, brain: Brain, effects: list[Any]
) -> None:
    (asked,) = open_asks(session)
    raced = race(approving(asked, owner), saying(session, owner))
    assert isinstance(raced.first, Answered)
    carry_all()
    assert effects == []
    assert brain.told()["g1"] == texts.lapsed("A person wrote to the session.")
    assert "Explain first." in brain.heard()[-1]


@pytest.mark.case("eve-ignored")
def test_a_message_that_is_first_passes_it_over_and_the_answer_is_refused(
    session: Session, owner: User, brain: Brain, effects: list[Any]
) -> None:
    (asked,) = open_asks(session)
    raced = race(saying(session, owner), approving(asked, owner))
    assert isinstance(raced.second, Refused)
    carry_all()
    assert effects == []
    assert brain.told()["g1"] == texts.IGNORED
    asked.refresh_from_db()
    assert asked.status == AskStatus.WITHDRAWN
