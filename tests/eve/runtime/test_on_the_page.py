"""What an owner sees of an agent that asks: the call, its arguments, and what became of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.eve.runtime.world import (
    Brain,
    approve,
    call,
    carry_all,
    open_asks,
    question,
    say,
    session_for,
)
from workspace.protocols.eve.agent import texts

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_owner(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def session(owner: User) -> Any:
    brain = Brain([call("refund", "c1", charge_id="ch_77", amount=1.5), question("Which ledger?")])
    found = session_for(owner, brain)
    say(found, owner)
    return found


def page(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def test_the_card_shows_the_call_and_not_the_protocols_own_facts(
    session: Any, as_owner: Client
) -> None:
    shown = page(as_owner, "/")
    for words in ("Approve tool call: refund", "charge_id", "ch_77", "Which ledger?"):
        assert words in shown
    for words in ("callId", "stepIndex", "aitxt-"):
        assert words not in shown


def test_words_on_the_page_pass_over_what_waits_and_the_card_says_so(
    session: Any, as_owner: Client, effects: list[Any]
) -> None:
    asked = open_asks(session)[0]
    as_owner.post(f"/sessions/{session.pk}/message", {"text": "Explain first."})
    assert open_asks(session) == []
    assert texts.IGNORED in page(as_owner, f"/asks/{asked.pk}/")
    carry_all()
    thread = page(as_owner, f"/sessions/{session.pk}/")
    assert texts.IGNORED in thread
    assert effects == []


def test_the_thread_tells_what_ran_and_nothing_of_the_wire(owner: User, as_owner: Client) -> None:
    session = session_for(owner, Brain([call("refund", "c1", charge_id="ch_77", amount=1.5)]))
    say(session, owner)
    approve(open_asks(session)[0], owner)
    thread = page(as_owner, f"/sessions/{session.pk}/")
    for words in ("refund", "completed", "it happened", "Done."):
        assert words in thread
    for words in ("step.started", "messageDelta", "noted"):
        assert words not in thread
