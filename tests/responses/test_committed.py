"""A refused answer over /v1/responses and its ledger record are committed together."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from tests.committed import check_refusals_are_on_record
from tests.responses.world import Caller, Refused, ask_of, hybrid_agent, key_for, result
from workspace.protocols.responses.server import service

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_unknown_call_is_no_answer(caller: Caller) -> None:
    paused = caller.ask()
    with pytest.raises(Refused) as refused:
        caller.create(previous_response_id=paused["id"], input=[result("call_nope", "EU")])
    assert refused.value.status == 400
    check_refusals_are_on_record(0)


def test_an_answer_that_is_no_option(caller: Caller) -> None:
    paused = caller.ask()
    with pytest.raises(Refused) as refused:
        caller.answer(paused, "the Swiss one")
    assert refused.value.status == 400
    check_refusals_are_on_record(1)


def test_a_closed_question(caller: Caller) -> None:
    paused = caller.ask()
    caller.answer(paused, "EU")
    with pytest.raises(Refused) as refused:
        caller.answer(paused, "US")
    assert (refused.value.status, refused.value.code) == (409, "already_answered")
    check_refusals_are_on_record(1)


def test_a_response_of_somebody_else_leaves_no_record(caller: Caller, stranger: User) -> None:
    paused = caller.ask()
    foreign = Caller(key_for(hybrid_agent(stranger, "other"), stranger, name="stranger"))
    with pytest.raises(Refused) as refused:
        foreign.answer(paused, "EU")
    assert refused.value.code == "previous_response_not_found"
    assert ask_of(paused).status == "open"
    check_refusals_are_on_record(0)


def test_a_key_of_an_agent(agent: Agent) -> None:
    program = Caller(key_for(agent, None, ("run:create", "run:read"), "program"))
    paused = program.ask()
    with pytest.raises(Refused) as refused:
        program.answer(paused, "EU")
    assert refused.value.status == 403
    check_refusals_are_on_record(1)


def test_a_question_that_a_key_may_not_withdraw_stays(caller: Caller, agent: Agent) -> None:
    paused = caller.ask()
    program = Caller(key_for(agent, None, ("run:create", "run:read"), "program"))
    with pytest.raises(Refused):
        program.call(service.delete_response, paused["id"])
    caller.call(service.delete_response, paused["id"])
    check_refusals_are_on_record(0)
