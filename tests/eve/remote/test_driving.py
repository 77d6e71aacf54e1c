"""Driving agents of other people's eve servers, of both eras: sessions, approvals, questions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.lifecycle import Outcome, Status
from asks.answering import answer_ask
from asks.models import Ask, Refusal
from asks.refusals import Refused
from asks.withdrawing import withdraw_ask
from tests.eve.remote.double import Double, Handler, once
from tests.eve.remote.world import CALL, PARAMS, agent_at, asked, decide, drive, say, start, told
from tests.factories import echo_of
from tests.policies.world import in_force, refund

pytestmark = pytest.mark.django_db


def test_it_opens_a_session_and_says_what_the_agent_says(double: Double, owner: User) -> None:
    agent = agent_at(double, owner)
    session = start(agent, owner)
    assert told(session) == "echo: hello"
    assert session.last_outcome == Outcome.WORK_DONE
    session = say(agent, owner, "and you")
    assert told(session) == "echo: helloecho: and you"
    assert len(double.sessions) == 1
    assert [post["message"] for post in double.posts] == ["hello", "and you"]


def test_an_approval_is_bound_to_the_tool_and_its_input(double: Double, owner: User) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    assert session.status == Status.WAITING_HUMAN
    assert ask.kind == "approval"
    assert ask.request_key in double.session.open
    assert (ask.gate.operation, ask.gate.params) == ("refund", PARAMS)
    meanings = dict(ask.options.values_list("key", "meaning"))
    no = "cancel" if double.era == "current" else "deny"
    assert meanings == {"approve": "approve", no: "deny"}
    (ended,) = decide(ask, owner)
    assert double.session.ran == [PARAMS]
    assert double.posts[-1]["inputResponses"] == [
        {"requestId": ask.request_key, "optionId": "approve"}
    ]
    assert (ended.outcome, ended.report) == (Outcome.WORK_DONE, "refunded")


def test_a_denial_takes_the_owner_s_words_along(double: Double, owner: User) -> None:
    ask = asked(say(agent_at(double, owner), owner, CALL))
    no = ask.options.exclude(key="approve").get().key
    (ended,) = decide(ask, owner, no, "too much")
    assert double.session.ran == []
    assert ended.report == "denied (too much)"


@pytest.mark.parametrize(
    ("question", "given", "got"),
    [
        ({"options": [{"id": "eu", "label": "EU"}, {"id": "us", "label": "US"}]}, "us", "us"),
        ({"allowFreeform": True}, "", "in words"),
        ({"options": [{"id": "eu", "label": "EU"}], "allowFreeform": True}, "", "in words"),
    ],
)
def test_a_question_is_answered_by_option_or_in_words(
    double: Double, owner: User, question: dict[str, Any], given: str, got: str
) -> None:
    words = "ask " + json.dumps({"prompt": "Which?", **question})
    ask = asked(say(agent_at(double, owner), owner, words))
    assert (ask.kind, ask.prompt) == ("question", "Which?")
    assert ask.free_text is ("allowFreeform" in question)
    (ended,) = decide(ask, owner, given, "" if given else "in words")
    assert ended.report == f"got {got}"


@pytest.mark.case("C58")
def test_several_requests_are_asked_at_once_and_answered_at_once(
    double: Double, owner: User
) -> None:
    words = f'{CALL}; call refund {{"charge": "ch_2", "amount": 1}}'
    session = say(agent_at(double, owner), owner, words)
    first, second = Ask.objects.filter(session=session).order_by("pk")
    assert decide(first, owner) == []
    assert len(double.posts) == 1
    no = second.options.exclude(key="approve").get().key
    (ended,) = decide(second, owner, no)
    assert double.session.ran == [PARAMS]
    assert ended.report == "refunded and denied"
    assert len(double.posts[-1]["inputResponses"]) == 2


def test_an_answered_request_leads_to_the_next(double: Double, owner: User) -> None:
    agent = agent_at(double, owner)
    session = say(agent, owner, CALL)
    decide(asked(session), owner)
    session = say(agent, owner, CALL)
    decide(asked(session), owner)
    assert double.session.ran == [PARAMS, PARAMS]
    assert len(double.sessions) == 1


@pytest.mark.parametrize("double", ["current"], indirect=True)
def test_what_is_asked_a_moment_later_is_asked_here_too(double: Double, owner: User) -> None:
    """Today's servers ask each question with a rest of its own."""

    def one_by_one(handler: Handler) -> bool:
        session = handler.double.open()
        handler.reply(202, {"ok": True, "sessionId": session.name, "status": "accepted"})
        session.hear('ask {"prompt": "First?", "allowFreeform": true}')
        later = session.ask_also('ask {"prompt": "Second?", "allowFreeform": true}')
        session.say("input.requested", requests=[later])
        session.say("turn.waiting", on="input")
        return True

    double.faults = [once(one_by_one, method="POST")]
    session = start(agent_at(double, owner), owner)
    first, second = Ask.objects.filter(session=session).order_by("pk")
    assert (first.prompt, second.prompt) == ("First?", "Second?")
    decide(first, owner, "", "one")
    (ended,) = decide(second, owner, "", "two")
    assert ended.report == "got one and got two"


def test_words_never_answer_what_waits_and_are_sent_after_it(double: Double, owner: User) -> None:
    agent = agent_at(double, owner)
    session = say(agent, owner, CALL)
    ask = asked(session)
    session = say(agent, owner, "approve")
    assert len(double.posts) == 1
    assert session.status == Status.WAITING_HUMAN
    assert session.events.filter(text__contains="kept and sent after that").exists()
    stale = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    assert isinstance(stale, Refused), "the session went on meanwhile, so it is asked anew"
    (ended,) = decide(asked(session), owner)
    assert double.session.ran == [PARAMS]
    assert double.posts[-1]["message"] == "approve"
    assert "echo: approve" in ended.report


def test_what_the_owner_takes_back_is_denied_there(double: Double, owner: User) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    withdraw_ask(ask_id=asked(session).pk, by=owner, reason="no")
    (ended,) = drive()
    assert double.session.ran == []
    assert "denied (The owner took the question back" in ended.report


def test_a_call_of_a_remote_agent_cannot_be_changed(double: Double, owner: User) -> None:
    agent = agent_at(double, owner)
    in_force(agent, refund(may_edit=True))
    ask = asked(say(agent, owner, CALL))
    edited = {**PARAMS, "amount": 1}
    refused = answer_ask(
        ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask), edited=edited
    )
    assert isinstance(refused, Refused)
    assert Refusal.objects.get().reason == "not_editable"


def test_the_next_start_is_a_session_of_its_own(double: Double, owner: User) -> None:
    agent = agent_at(double, owner, input="hello again")
    start(agent, owner)
    start(agent, owner)
    assert len(double.sessions) == 2


def test_the_key_is_the_worker_s_and_goes_along(
    double: Double, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVE_KEY", "s3cret")
    seen: list[str | None] = []

    def look(handler: Handler) -> bool:
        seen.append(handler.headers.get("Authorization"))
        return False

    double.faults = [look]
    start(agent_at(double, owner, key_variable="EVE_KEY"), owner)
    assert set(seen) == {"Bearer s3cret"}
