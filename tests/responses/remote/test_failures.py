"""What a remote agent does wrong: the run fails or waits, in words, and no verdict is lost."""

from __future__ import annotations

import json
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents import controls
from agents.lifecycle import Outcome, RunStatus, SessionState, Status
from agents.models import Agent, InboxItem, Run, Session
from tests.factories import home_of
from tests.responses.remote.acts import DONE, PAUSED, ask_of, decide, told
from tests.responses.remotes import (
    Exchange,
    Remote,
    drive,
    refuses,
    remote_agent,
    response,
    said,
    start,
    streamed,
    tells,
)

pytestmark = pytest.mark.django_db


def failing(*statuses: str) -> list[Any]:
    return [
        tells(response(status=status, error={"message": "out of paper"})) for status in statuses
    ]


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
    controls.resume_session(session_id=session.pk, by=owner)
    drive()
    assert remote.posts[-1].body["input"][0]["output"] == "EU"
    assert not InboxItem.objects.exclude(state="acked").exists()


def html(exchange: Exchange) -> None:
    exchange.raw(b"<h1>Welcome</h1>")


def half_an_event(exchange: Exchange) -> None:
    exchange.stream(
        streamed(PAUSED)[0], b'event: response.output_item.done\ndata: {"item": {"type"'
    )


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

    assert ask_of(start(agent, owner)).pk
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


IN_TWO_MINUTES = "a date"


@pytest.mark.parametrize(
    ("said", "least"),
    [("", 20), ("nan", 20), ("soon", 20), ("1e400", 30 * 86_400), (IN_TWO_MINUTES, 100)],
)
def test_whatever_a_server_says_of_when_the_answer_waits(
    agent: Agent, owner: User, remote: Remote, said: str, least: int
) -> None:
    """A date counts like seconds; what is neither is as if nothing had been said."""
    if said == IN_TWO_MINUTES:
        said = format_datetime(timezone.now() + timedelta(seconds=120))
    session = start(agent, owner)
    remote.then(refuses(429, Retry_After=said))

    decide(session, owner, "EU")

    session.refresh_from_db()
    assert session.wake_at is not None
    assert session.wake_at > timezone.now() + timedelta(seconds=least)
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
    assert "“EU” was not accepted" in ask.prompt
    assert session.open_asks == 1
    remote.then(tells(DONE))
    decide(session, owner, "Start over")
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

    assert "rejected your answer “EU”" in ask_of(session).prompt
    assert "That was not offered." in ask_of(session).prompt


def test_an_answer_that_somebody_else_gave_is_said(
    agent: Agent, owner: User, remote: Remote
) -> None:
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
    assert "received your answer “EU”" in ask_of(session).prompt
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

    controls.start_session(session_id=session.pk, by=owner)
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

    controls.start_session(session_id=session.pk, by=owner)
    drive()

    assert len(remote.posts) == 1
    assert ask_of(session).pk


def test_a_silent_stream_is_called_again(owner: User, remote: Remote) -> None:
    import time

    def falls_silent(exchange: Exchange) -> None:
        exchange.stream(streamed(PAUSED)[0])
        time.sleep(2)

    agent = remote_agent(owner, remote.url, silence_seconds=0.2)
    remote.then(falls_silent, tells(PAUSED))

    assert ask_of(start(agent, owner)).pk
    assert len(remote.posts) == 1


def test_an_unknown_event_or_item_is_a_line_of_what_happened(
    agent: Agent, owner: User, remote: Remote
) -> None:
    odd = [
        {"type": "response.mystery", "sequence_number": 1},
        {"type": "marker", "sequence_number": 2},
    ]
    whole = response({"type": "executor_action", "id": "x1"}, said("Done."))
    remote.then(lambda exchange: exchange.stream(streamed(whole)[0], *odd), tells(whole))

    session = start(agent, owner)

    assert told(session, "step") == ["executor_action"]


def test_an_error_event_in_the_middle_fails_the_run(
    agent: Agent, owner: User, remote: Remote
) -> None:
    error = {"type": "error", "code": "x", "message": "The model is gone.", "sequence_number": 1}
    remote.then(lambda exchange: exchange.stream(streamed(PAUSED)[0], error))

    start(agent, owner)

    assert "The model is gone." in Run.objects.get().error


def test_settings_are_checked_when_saved(owner: User) -> None:
    from django.core.exceptions import ValidationError

    with pytest.raises(ValidationError, match="http"):
        remote_agent(owner, "ftp://x")
    assert json.dumps(remote_agent(owner, "http://x/v1/").settings["base_url"]) == '"http://x/v1"'
    assert home_of(Agent.objects.get()).status == Status.MANUAL
