"""A refusal over /eve/v1 and its ledger record are committed together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from asks.models import Refusal
from tests.committed import check_refusals_are_on_record
from tests.eve.server.world import LEDGERS, Caller, Talk, agents_key, key_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(caller: Caller) -> Talk:
    """A session that asks which ledger."""
    return caller.open(LEDGERS)


def post(session_id: str, token: str, *responses: dict[str, str]) -> tuple[int, Any]:
    """Answer over HTTP, as a client of the protocol does."""
    sent = Client(headers={"Authorization": f"Bearer {token}"}).post(
        f"/eve/v1/session/{session_id}",
        json.dumps({"inputResponses": list(responses)}),
        content_type="application/json",
    )
    return sent.status_code, sent.json()


def test_an_unknown_request(talk: Talk, owner: User, agent: Agent) -> None:
    token = key_for(agent, owner, name="by hand")
    status, said = post(talk.id, token, {"requestId": "nope", "text": "x"})
    assert (status, said["ok"], said["code"]) == (404, False, "unknown_request")
    assert Refusal.objects.get().ask_ref == "nope"
    check_refusals_are_on_record(1)


def test_an_unknown_request_next_to_a_known_one_answers_neither(
    talk: Talk, owner: User, agent: Agent
) -> None:
    [request] = talk.open_requests()
    known = {"requestId": request["requestId"], "optionId": "eu"}
    unknown = {"requestId": "nope", "text": "x"}
    assert post(talk.id, key_for(agent, owner, name="by hand"), known, unknown)[0] == 404
    assert [ask.status for ask in talk.asks()] == ["open"]
    check_refusals_are_on_record(1)


def test_a_request_of_another_session(
    talk: Talk, caller: Caller, owner: User, agent: Agent
) -> None:
    other = caller.open(LEDGERS)
    [request] = other.open_requests()
    token = key_for(agent, owner, name="by hand")
    assert post(talk.id, token, {"requestId": request["requestId"], "optionId": "eu"})[0] == 404
    assert [ask.status for ask in other.asks()] == ["open"]
    check_refusals_are_on_record(1)


def test_a_closed_request(talk: Talk, owner: User, agent: Agent) -> None:
    [request] = talk.open_requests()
    talk.choose("eu")
    token = key_for(agent, owner, name="by hand")
    answer = {"requestId": request["requestId"], "optionId": "us"}
    status, said = post(talk.id, token, answer)
    assert (status, said["code"]) == (409, "already_answered")
    check_refusals_are_on_record(1)


def test_a_session_of_somebody_else_leaves_no_record(talk: Talk, stranger: User) -> None:
    token = key_for(None, stranger, name="stranger")
    status, said = post(talk.id, token, {"requestId": "nope", "text": "x"})
    assert (status, said["code"]) == (409, "session_not_active")
    check_refusals_are_on_record(0)


def test_a_key_of_an_agent(agent: Agent) -> None:
    token = agents_key(agent)
    talk = Caller(token).open(LEDGERS)
    [request] = talk.open_requests()
    assert post(talk.id, token, {"requestId": request["requestId"], "optionId": "eu"})[0] == 403
    assert post(talk.id, token, {"requestId": "nope", "text": "x"})[0] == 403
    check_refusals_are_on_record(2)
