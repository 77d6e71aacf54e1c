"""Driving somebody else's server: what it asks, what it is sent, and what it may do wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents import messages
from agents.lifecycle import Outcome, Status
from agents.models import Agent, Run, Session
from asks import withdrawing
from asks.answering import answer_ask
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict
from tests.responses.remote.acts import DONE, PAUSED, ask_of, decide, told
from tests.responses.remotes import (
    Remote,
    call,
    drive,
    question,
    refuses,
    remote_agent,
    response,
    said,
    start,
    step,
    streamed,
    tells,
)

pytestmark = pytest.mark.django_db


@pytest.mark.case("responses-C14", "responses-C18")
def test_a_question_becomes_an_ask_and_the_run_waits(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)

    ask = ask_of(session)
    assert ask.request_key == "ledger.aaaaaaaaaaaa"
    assert [option.label for option in ask.options.all()] == ["EU", "US"]
    assert session.status == Status.WAITING_HUMAN
    assert told(session, "step") == ["load"]
    assert remote.posts[0].body == {"input": "Close October.", "stream": True}


@pytest.mark.case("responses-C14")
def test_a_question_named_like_its_call_is_no_step(
    agent: Agent, owner: User, remote: Remote
) -> None:
    remote.then(tells(response(step(), question(call_id="request_info"))))

    session = start(agent, owner)

    assert ask_of(session).request_key == "request_info"
    assert told(session, "step") == ["load"]


@pytest.mark.case("responses-C22")
def test_the_answer_goes_back_exactly_as_it_was_offered(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(tells(DONE))

    decide(session, owner, "US")

    assert remote.posts[-1].body == {
        "previous_response_id": "resp_1",
        "input": [
            {
                "type": "function_call_output",
                "call_id": "ledger.aaaaaaaaaaaa",
                "output": "US",
            }
        ],
        "stream": True,
    }
    assert told(session, "summary") == ["Closed October."]
    assert Session.objects.get(pk=session.pk).status == Status.MANUAL


@pytest.mark.case("responses-C22")
def test_typed_words_go_back_verbatim(agent: Agent, owner: User, remote: Remote) -> None:
    remote.then(tells(response(question(options=None))))
    session = start(agent, owner)
    remote.then(tells(DONE))

    decide(session, owner, text="the Swiss one — “quoted”")

    assert remote.posts[-1].body["input"][0]["output"] == "the Swiss one — “quoted”"


@pytest.mark.case("responses-C15")
def test_seen_live_on_a_replay_and_by_polling_it_is_one_ask(
    agent: Agent, owner: User, remote: Remote
) -> None:
    events = streamed(PAUSED)
    remote.then(
        lambda exchange: exchange.stream(*events[:3]),  # it breaks after the question
        lambda exchange: exchange.stream(*events[1:3]),  # a replay that repeats, and breaks again
        refuses(404, message="no streams here"),
        tells(PAUSED),
    )

    session = start(agent, owner)

    assert Ask.objects.filter(session=session).count() == 1
    assert len(remote.posts) == 1
    assert "starting_after=2" in remote.requests[1].path
    assert told(session, "step") == ["load"]


def test_words_are_told_once_over_a_break(agent: Agent, owner: User, remote: Remote) -> None:
    whole = response(said("Closed October."))
    begun = streamed(whole)[0]
    pieces = [
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "delta": text,
            "sequence_number": n,
        }
        for n, text in enumerate(("Closed ", "October"), start=1)
    ]
    remote.then(lambda exchange: exchange.stream(begun, *pieces), refuses(400), tells(whole))

    session = start(agent, owner)

    assert "".join(told(session, "output")) == "Closed October."


@pytest.mark.parametrize("poll", [True, False])
def test_a_background_response_is_waited_for(owner: User, remote: Remote, poll: bool) -> None:
    queued = response(status="queued")
    remote.then(
        lambda exchange: exchange.json(queued),
        *([lambda exchange: exchange.json(response(status="in_progress"))] if poll else []),
        tells(PAUSED),
    )
    agent = remote_agent(owner, remote.url, background=True, poll=poll)

    session = start(agent, owner)

    assert ask_of(session).pk
    assert remote.posts[0].body["background"] is True
    assert remote.posts[0].body["stream"] is not poll


def test_settings_say_what_requests_carry(
    owner: User, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMOTE_KEY", "secret")
    agent = remote_agent(
        owner,
        remote.url,
        key_variable="REMOTE_KEY",
        model="shell-1",
        metadata={"skill": "ledger"},
        input="Close it.",
    )
    session = start(agent, owner)
    remote.then(tells(DONE))
    decide(session, owner, "EU")

    first, second = remote.posts
    assert first.headers["Authorization"] == "Bearer secret"
    assert first.body == {
        "input": "Close it.",
        "stream": True,
        "model": "shell-1",
        "metadata": {"skill": "ledger"},
    }
    assert "metadata" not in second.body


def test_the_owners_words_follow_the_last_response(
    agent: Agent, owner: User, remote: Remote
) -> None:
    remote.then(tells(DONE))
    session = start(agent, owner)

    messages.post_message(session_id=session.pk, by=owner, text="And November?")
    drive()

    assert remote.posts[-1].body == {
        "input": "And November?",
        "previous_response_id": "resp_2",
        "stream": True,
    }


def test_words_beside_an_open_question_leave_it_open(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(tells(response(said("Hello."), name="resp_2")), tells(DONE))

    messages.post_message(session_id=session.pk, by=owner, text="Hello?")
    drive()
    assert ask_of(session).pk
    decide(session, owner, "EU")

    assert remote.posts[-1].body["previous_response_id"] == "resp_1"


@pytest.mark.case("responses-C35")
def test_a_withdrawn_question_posts_nothing(agent: Agent, owner: User, remote: Remote) -> None:
    session = start(agent, owner)
    before = len(remote.requests)

    withdrawing.withdraw_ask(ask_id=ask_of(session).pk, by=owner)
    ended = drive()

    assert [one.outcome for one in ended] == [Outcome.NO_WORK]
    assert len(remote.requests) == before


@pytest.mark.case("responses-C35")
def test_an_expired_question_posts_nothing(agent: Agent, owner: User, remote: Remote) -> None:
    from asks.deadlines import expiry

    session = start(agent, owner)
    before = len(remote.requests)
    Ask.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    expiry.expire_due_asks()
    drive()

    assert not Verdict.objects.exists()
    assert len(remote.requests) == before
    assert not Ask.objects.filter(session=session, status=AskStatus.OPEN).exists()


def test_several_questions_are_answered_in_one_post(
    agent: Agent, owner: User, remote: Remote
) -> None:
    second = question(call_id="b.bbbbbbbbbbbb") | {"id": "fc_2"}
    remote.then(tells(response(question(), second)))
    session = start(agent, owner)
    remote.then(tells(DONE))

    for ask in Ask.objects.filter(session=session).order_by("pk"):
        assert len(remote.posts) == 1
        answer_ask(ask_id=ask.pk, by=owner, option="option-1")
        drive()

    calls = [item["call_id"] for item in remote.posts[-1].body["input"]]
    assert calls == ["ledger.aaaaaaaaaaaa", "b.bbbbbbbbbbbb"]
    assert len(remote.posts) == 2


def test_an_approval_item_is_answered_as_one(agent: Agent, owner: User, remote: Remote) -> None:
    item = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "bank",
        "name": "refund",
        "arguments": '{"amount": 100}',
    }
    remote.then(tells(response(item)))
    session = start(agent, owner)
    remote.then(tells(DONE))

    decide(session, owner, "Deny")

    assert remote.posts[-1].body["input"] == [
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False}
    ]


def test_a_question_that_cannot_be_read_is_shown_and_sends_nothing(
    agent: Agent, owner: User, remote: Remote
) -> None:
    remote.then(tells(response(call("request_info", "r1", "{not json"))))
    session = start(agent, owner)
    before = len(remote.posts)

    decide(session, owner, "Close it")

    assert len(remote.posts) == before


def test_what_the_agent_used_is_kept(agent: Agent, owner: User, remote: Remote) -> None:
    usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
    remote.then(tells(response(said("Done."), usage=usage, envelope={"cost_usd": 0.4})))

    start(agent, owner)

    assert Run.objects.get().usage == usage | {"cost_usd": 0.4}


# What servers do wrong.
