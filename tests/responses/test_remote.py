"""Driving somebody else's server: what it asks, what it is sent, and what it may do wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents import messaging, steering
from agents.lifecycle import Outcome, RunStatus, SessionState, Status
from agents.models import Agent, Event, InboxItem, Run, Session
from asks import withdrawing
from asks.answering import Answered, answer
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict
from tests.factories import echo_of, home_of
from tests.responses.remotes import (
    Exchange,
    Remote,
    call,
    drive,
    question,
    refuses,
    remote_agent,
    response,
    said,
    serving,
    start,
    step,
    streamed,
    tells,
)

pytestmark = pytest.mark.django_db

PAUSED = response(step(), question())
DONE = response(said("Closed October."), name="resp_2")


@pytest.fixture
def remote() -> Iterator[Remote]:
    with serving(Remote(tells(PAUSED))) as found:
        yield found


@pytest.fixture
def agent(owner: User, remote: Remote) -> Agent:
    return remote_agent(owner, remote.url)


def ask_of(session: Session) -> Ask:
    return Ask.objects.get(session=session, status=AskStatus.OPEN)


def decide(session: Session, by: User, label: str = "", text: str = "") -> list[Any]:
    """Answer the one open ask and carry what follows."""
    ask = ask_of(session)
    option = ask.options.get(label=label).key if label else ""
    echo = echo_of(ask) if hasattr(ask, "gate") else None
    done = answer(ask_id=ask.pk, by=by, option=option, text=text, echo=echo)
    assert isinstance(done, Answered), done
    return drive()


def told(session: Session, *kinds: str) -> list[str]:
    events = Event.objects.filter(session=session, kind__in=kinds).order_by("seq")
    return list(events.values_list("text", flat=True))


@pytest.mark.case("responses-C14", "responses-C18")
def test_a_question_becomes_an_ask_and_the_run_waits(agent: Agent, owner: User, remote: Remote) -> None:
    session = start(agent, owner)

    ask = ask_of(session)
    assert ask.request_key == "ledger.aaaaaaaaaaaa"
    assert [option.label for option in ask.options.all()] == ["EU", "US"]
    assert session.status == Status.WAITING_HUMAN
    assert told(session, "step") == ["load"]
    assert remote.posts[0].body == {"input": "Close October.", "stream": True}


@pytest.mark.case("responses-C14")
def test_a_question_named_like_its_call_is_no_step(agent: Agent, owner: User, remote: Remote) -> None:
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
        {"type": "response.output_text.delta", "item_id": "msg_1", "delta": text, "sequence_number": n}
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

    assert ask_of(session)
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


def test_the_owners_words_follow_the_last_response(agent: Agent, owner: User, remote: Remote) -> None:
    remote.then(tells(DONE))
    session = start(agent, owner)

    messaging.post_message(session_id=session.pk, by=owner, text="And November?")
    drive()

    assert remote.posts[-1].body == {
        "input": "And November?",
        "previous_response_id": "resp_2",
        "stream": True,
    }


def test_words_beside_an_open_question_leave_it_open(agent: Agent, owner: User, remote: Remote) -> None:
    session = start(agent, owner)
    remote.then(tells(response(said("Hello."), name="resp_2")), tells(DONE))

    messaging.post_message(session_id=session.pk, by=owner, text="Hello?")
    drive()
    assert ask_of(session)
    decide(session, owner, "EU")

    assert remote.posts[-1].body["previous_response_id"] == "resp_1"


@pytest.mark.case("responses-C35")
def test_a_withdrawn_question_posts_nothing(agent: Agent, owner: User, remote: Remote) -> None:
    session = start(agent, owner)
    before = len(remote.requests)

    withdrawing.withdraw(ask_id=ask_of(session).pk, by=owner)
    ended = drive()

    assert [one.outcome for one in ended] == [Outcome.NO_WORK]
    assert len(remote.requests) == before


@pytest.mark.case("responses-C35")
def test_an_expired_question_posts_nothing(agent: Agent, owner: User, remote: Remote) -> None:
    from asks import expiry

    session = start(agent, owner)
    before = len(remote.requests)
    Ask.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    expiry.expire_due()
    drive()

    assert not Verdict.objects.exists()
    assert len(remote.requests) == before
    assert not Ask.objects.filter(session=session, status=AskStatus.OPEN).exists()


def test_several_questions_are_answered_in_one_post(agent: Agent, owner: User, remote: Remote) -> None:
    second = question(call_id="b.bbbbbbbbbbbb") | {"id": "fc_2"}
    remote.then(tells(response(question(), second)))
    session = start(agent, owner)
    remote.then(tells(DONE))

    for ask in Ask.objects.filter(session=session).order_by("pk"):
        assert len(remote.posts) == 1
        answer(ask_id=ask.pk, by=owner, option="option-1")
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


def failing(*statuses: str) -> list[Any]:
    return [tells(response(status=status, error={"message": "out of paper"})) for status in statuses]


@pytest.mark.parametrize("status", ["failed", "cancelled", "incomplete"])
def test_a_response_that_failed_fails_the_run_in_its_words(
    agent: Agent, owner: User, remote: Remote, status: str
) -> None:
    remote.then(*failing(status))

    session = start(agent, owner)

    run = Run.objects.get()
    assert run.status == RunStatus.FAILED
    assert "out of paper" in run.error
    assert session.state == SessionState.PAUSED


def test_an_answer_after_which_the_agent_failed_is_not_sent_again_by_itself(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(*failing("failed"))

    decide(session, owner, "EU")

    assert len(remote.posts) == 2
    assert not Run.objects.filter(status=RunStatus.QUEUED).exists()
    assert InboxItem.objects.filter(kind="verdict", state="queued").exists()
    remote.then(tells(DONE))
    steering.resume_session(session_id=session.pk, by=owner)
    drive()
    assert remote.posts[-1].body["input"][0]["output"] == "EU"
    assert not InboxItem.objects.exclude(state="acked").exists()


def html(exchange: Exchange) -> None:
    exchange.raw(b"<h1>Welcome</h1>")


def half_an_event(exchange: Exchange) -> None:
    exchange.stream(streamed(PAUSED)[0], b'event: response.output_item.done\ndata: {"item": {"type"')


def a_stream_of_nonsense(exchange: Exchange) -> None:
    exchange.stream(b"data: {not json\n\n")


def json_that_is_none(exchange: Exchange) -> None:
    exchange.json([1, 2])


def too_much(exchange: Exchange) -> None:
    exchange.stream(*[b": " + b"a" * 60_000 + b"\n"] * 40)


def an_empty_stream(exchange: Exchange) -> None:
    exchange.stream()


@pytest.mark.parametrize(
    "script", [html, a_stream_of_nonsense, json_that_is_none, too_much, an_empty_stream]
)
def test_what_is_not_the_protocol_fails_the_run_in_words(
    owner: User, remote: Remote, script: Any
) -> None:
    remote.then(script)
    agent = remote_agent(owner, remote.url, max_bytes=2_000_000)

    start(agent, owner)

    run = Run.objects.get()
    assert run.status == RunStatus.FAILED
    assert "server" in run.error.lower()
    assert not Run.objects.filter(status=RunStatus.QUEUED).exists()


def test_half_an_event_is_read_again(agent: Agent, owner: User, remote: Remote) -> None:
    remote.then(half_an_event, tells(PAUSED))

    assert ask_of(start(agent, owner))
    assert len(remote.posts) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_says_when_to_come_again_is_believed(
    agent: Agent, owner: User, remote: Remote, status: int
) -> None:
    session = start(agent, owner)
    remote.then(refuses(status, Retry_After="120"))

    ended = decide(session, owner, "EU")

    assert [one.outcome for one in ended] == [Outcome.RATE_LIMITED]
    session.refresh_from_db()
    assert session.wake_at is not None
    assert session.wake_at > timezone.now() + timedelta(seconds=100)
    assert InboxItem.objects.filter(kind="verdict", state="queued").exists()


def test_a_server_that_is_not_there_is_tried_again(owner: User) -> None:
    agent = remote_agent(owner, "http://127.0.0.1:9", max_attempts=3)

    session = start(agent, owner)

    assert session.status == Status.BACKING_OFF
    assert "could not be reached" in Run.objects.get().error


@pytest.mark.parametrize("status", [401, 403, 400, 422])
def test_a_server_that_will_not_have_it_fails_the_run_for_good(
    agent: Agent, owner: User, remote: Remote, status: int
) -> None:
    remote.then(refuses(status, message="Incorrect API key provided."))

    session = start(agent, owner)

    assert session.state == SessionState.PAUSED
    assert "Incorrect API key" in Run.objects.get().error


def test_an_answer_that_came_too_late_is_shown_and_kept(
    agent: Agent, owner: User, remote: Remote
) -> None:
    """The server deleted the response that asked: nothing is run again by itself."""
    session = start(agent, owner)
    remote.then(refuses(400, "previous_response_not_found", "Previous response not found."))

    decide(session, owner, "EU")

    ask = ask_of(session)
    assert "forgotten this conversation" in ask.prompt
    assert "“EU” was not taken" in ask.prompt
    assert session.open_asks == 1
    remote.then(tells(DONE))
    decide(session, owner, "Start afresh")
    assert remote.posts[-1].body == {"input": "Close October.", "stream": True}


def test_a_forgotten_conversation_may_only_have_been_away(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(refuses(404, "", "Not found."))
    decide(session, owner, "EU")
    remote.then(tells(DONE))

    decide(session, owner, "Send it again")

    assert remote.posts[-1].body == remote.posts[-2].body
    assert told(session, "summary") == ["Closed October."]


def test_a_conversation_that_is_ended_sends_nothing_more(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(refuses(404, "", "Not found."))
    decide(session, owner, "EU")
    before = len(remote.requests)

    decide(session, owner, "End it")

    assert len(remote.requests) == before
    assert Session.objects.get(pk=session.pk).status == Status.MANUAL


def test_an_answer_that_is_turned_down_is_the_owners_again(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(refuses(400, "unknown_option", "That was not offered."))

    decide(session, owner, "EU")

    assert "did not take your answer “EU”" in ask_of(session).prompt
    assert "That was not offered." in ask_of(session).prompt


def test_an_answer_that_somebody_else_gave_is_said(agent: Agent, owner: User, remote: Remote) -> None:
    session = start(agent, owner)
    remote.then(refuses(409, "already_answered", "Already answered."))

    decide(session, owner, "EU")

    session.refresh_from_db()
    assert session.status == Status.BLOCKED
    assert "answered elsewhere" in told(session, "error")[-1]
    assert len(remote.posts) == 2


def hangs_up(exchange: Exchange) -> None:
    exchange.hang_up()


@pytest.mark.parametrize("script", [hangs_up, refuses(500), refuses(502), refuses(504)])
def test_an_answer_whose_reply_is_lost_is_never_sent_again_unasked(
    agent: Agent, owner: User, remote: Remote, script: Any
) -> None:
    """Such a server may run it twice: its owner decides."""
    session = start(agent, owner)
    remote.then(script)

    decide(session, owner, "EU")

    assert len(remote.posts) == 2
    assert "took your answer “EU”" in ask_of(session).prompt
    remote.then(tells(DONE))
    decide(session, owner, "Send it again")
    assert remote.posts[-1].body == remote.posts[1].body
    assert told(session, "summary") == ["Closed October."]


def test_an_answer_that_is_taken_as_taken_is_not_sent_again(
    agent: Agent, owner: User, remote: Remote
) -> None:
    session = start(agent, owner)
    remote.then(hangs_up)
    decide(session, owner, "EU")

    decide(session, owner, "End it")

    assert len(remote.posts) == 2


def test_an_idempotent_server_is_simply_sent_it_again(owner: User, remote: Remote) -> None:
    session = start(remote_agent(owner, remote.url, idempotent=True), owner)
    remote.then(hangs_up)
    decide(session, owner, "EU")
    assert Session.objects.get(pk=session.pk).status == Status.BACKING_OFF
    remote.then(tells(DONE))

    steering.start(session_id=session.pk, by=owner)
    drive()

    one, again = remote.posts[-2:]
    assert one.headers["Idempotency-Key"] == again.headers["Idempotency-Key"]
    assert one.body == again.body
    assert told(session, "summary") == ["Closed October."]


def test_a_new_request_has_a_key_of_its_own(agent: Agent, owner: User, remote: Remote) -> None:
    session = start(agent, owner)
    remote.then(tells(DONE))
    decide(session, owner, "EU")

    keys = [one.headers["Idempotency-Key"] for one in remote.posts]
    assert len(set(keys)) == 2


def test_an_agent_that_takes_too_long_is_followed_on_the_next_time(
    owner: User, remote: Remote
) -> None:
    agent = remote_agent(owner, remote.url, poll=True, wall_clock_seconds=0.3)
    remote.then(lambda exchange: exchange.json(response(status="in_progress")))
    session = start(agent, owner)
    assert "longer than 0.3 seconds" in Run.objects.get().error
    remote.then(tells(PAUSED))

    steering.start(session_id=session.pk, by=owner)
    drive()

    assert len(remote.posts) == 1
    assert ask_of(session)


def test_a_silent_stream_is_called_again(owner: User, remote: Remote) -> None:
    import time

    def falls_silent(exchange: Exchange) -> None:
        exchange.stream(streamed(PAUSED)[0])
        time.sleep(2)

    agent = remote_agent(owner, remote.url, silence_seconds=0.2)
    remote.then(falls_silent, tells(PAUSED))

    assert ask_of(start(agent, owner))
    assert len(remote.posts) == 1


def test_an_unknown_event_or_item_is_a_line_of_what_happened(
    agent: Agent, owner: User, remote: Remote
) -> None:
    odd = [{"type": "response.mystery", "sequence_number": 1}, {"type": "marker", "sequence_number": 2}]
    whole = response({"type": "executor_action", "id": "x1"}, said("Done."))
    remote.then(lambda exchange: exchange.stream(streamed(whole)[0], *odd), tells(whole))

    session = start(agent, owner)

    assert told(session, "step") == ["executor_action"]


def test_an_error_event_in_the_middle_fails_the_run(agent: Agent, owner: User, remote: Remote) -> None:
    error = {"type": "error", "code": "x", "message": "The model is gone.", "sequence_number": 1}
    remote.then(lambda exchange: exchange.stream(streamed(PAUSED)[0], error))

    start(agent, owner)

    assert "The model is gone." in Run.objects.get().error


def test_a_question_asked_again_after_it_was_answered_is_not_answered_by_itself(
    agent: Agent, owner: User, remote: Remote
) -> None:
    """A host that runs a second effect for a second answer gets one answer for one call_id."""
    session = start(agent, owner)
    remote.then(tells(response(question(), name="resp_2")))

    decide(session, owner, "EU")

    assert len(remote.posts) == 2
    assert not Ask.objects.filter(session=session, status=AskStatus.OPEN).exists()


def test_settings_are_checked_when_saved(owner: User) -> None:
    from django.core.exceptions import ValidationError

    with pytest.raises(ValidationError, match="http"):
        remote_agent(owner, "ftp://x")
    assert json.dumps(remote_agent(owner, "http://x/v1/").settings["base_url"]) == '"http://x/v1"'
    assert home_of(Agent.objects.get()).status == Status.MANUAL
