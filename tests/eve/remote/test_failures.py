"""What can go wrong with a remote eve agent: it ends in words, hangs nowhere, loses no verdict."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from agents import controls
from agents.lifecycle import Outcome
from agents.models import Agent, Run, Session
from agents.running.runtime import Ended
from asks.models import Ask
from tests.eve.remote.double import Double, Fault, Handler, once, serving
from tests.eve.remote.world import CALL, PARAMS, agent_at, asked, decide, drive, say, start, told
from workspace.protocols.eve.client import http

pytestmark = pytest.mark.django_db
#: What HTTP alone says is the same in both.
in_one_era = pytest.mark.parametrize("double", ["current"], indirect=True)


def hang_up(handler: Handler) -> bool:
    handler.hang_up()
    return True


def says(status: int, code: str = "", **headers: str) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.reply(status, {"ok": False, "code": code, "error": "Not now."}, **headers)
        return True

    return fault


def streams(*pieces: bytes) -> Fault:
    """A stream that says this and ends."""

    def fault(handler: Handler) -> bool:
        handler.begin(handler.double.session)
        for piece in pieces:
            handler.write(piece)
        return True

    return fault


def tried_again(session: Session, owner: User) -> list[Ended]:
    """A person starts it, which carries what is owed still."""
    controls.start_session(session_id=session.pk, by=owner)
    return drive()


def test_a_stream_that_breaks_is_read_on_at_its_index(double: Double, owner: User) -> None:
    def half(handler: Handler) -> bool:
        session = handler.double.session
        with session.moved:
            session.moved.wait_for(lambda: len(session.events) > 4, timeout=5)
        handler.begin(session)
        for event in session.events[:3]:
            handler.write(json.dumps(event).encode() + b"\n")
        handler.write(json.dumps(session.events[3]).encode()[:20])
        return True

    double.faults = [once(half, method="GET")]
    session = start(agent_at(double, owner), owner)
    assert told(session) == "echo: hello"
    starts = [path for method, path, _ in double.requests if method == "GET"]
    assert "startIndex=3" in starts[1]


@in_one_era
@pytest.mark.parametrize("line", [b"{]\n", b"[1]\n", b'"x"\n'])
def test_a_garbled_line_is_read_again_and_then_ends_the_turn_in_words(
    double: Double, owner: User, line: bytes
) -> None:
    double.faults = [once(streams(line), method="GET")]
    agent = agent_at(double, owner)
    assert told(start(agent, owner)) == "echo: hello"
    double.faults = [lambda handler: handler.command == "GET" and streams(line)(handler)]
    session = say(agent, owner, "once more")
    run = Run.objects.filter(session=session).latest("number")
    assert "contains a line that is not" in run.error


@in_one_era
def test_a_line_without_end_is_not_kept(double: Double, owner: User) -> None:
    def endless(handler: Handler) -> bool:
        if handler.command != "GET":
            return False
        handler.begin(handler.double.session)
        for _ in range(6):
            handler.write(b"x" * 1024 * 1024)
        return True

    double.faults = [endless]
    session = start(agent_at(double, owner), owner)
    assert "line of the stream is too long" in Run.objects.get(session=session).error


@in_one_era
def test_more_than_it_may_send_ends_the_turn(double: Double, owner: User) -> None:
    session = say(agent_at(double, owner, max_bytes=1024), owner, "words " * 500)
    assert "more than 1024 bytes" in Run.objects.get(session=session).error


@in_one_era
def test_a_page_instead_of_a_stream_is_said(double: Double, owner: User) -> None:
    def page(handler: Handler) -> bool:
        if handler.command != "GET":
            return False
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    double.faults = [page]
    session = start(agent_at(double, owner), owner)
    assert "is not NDJSON" in Run.objects.get(session=session).error


def test_a_lease_that_ends_is_no_trouble(owner: User) -> None:
    with serving("current") as double:
        double.lease = 1
        agent = agent_at(double, owner)
        double.faults = [once(streams(b"\n", b'{"$eve":"stream.lease-ended"}\n'), method="GET")]
        assert told(start(agent, owner)) == "echo: hello"


@in_one_era
@pytest.mark.parametrize("status", [429, 503])
def test_who_says_when_to_come_again_is_believed_and_the_verdict_waits(
    double: Double, owner: User, status: int
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    double.faults = [once(says(status, Retry_After="600"), method="POST")]
    (ended,) = decide(ask, owner)
    assert ended.outcome == Outcome.RATE_LIMITED
    assert double.session.ran == []
    (again,) = tried_again(session, owner)
    assert again.report == "refunded"
    assert double.session.ran == [PARAMS]


@in_one_era
def test_a_session_that_is_not_ready_is_tried_again_in_the_turn(
    double: Double, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "NOT_READY_SECONDS", 0.01)
    agent = agent_at(double, owner)
    start(agent, owner)
    double.faults = [once(says(409, "session_not_ready"), method="POST")]
    assert told(say(agent, owner, "now")) == "echo: helloecho: now"


@in_one_era
@pytest.mark.parametrize("how", [says(500), says(502), hang_up])
def test_an_answer_whose_reply_was_lost_is_sent_again_and_decides_once(
    double: Double, owner: User, how: Fault
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    double.faults = [once(how, method="POST")]
    (ended,) = decide(asked(session), owner)
    assert ended.outcome == Outcome.RETRYABLE_ERROR
    assert double.session.ran == []
    (again,) = tried_again(session, owner)
    assert again.report == "refunded"
    assert double.session.ran == [PARAMS]


def taken_and_hung_up(handler: Handler) -> bool:
    """The server takes it, and its reply is lost."""
    *_, (_, path, body) = handler.double.requests
    if "/stream" in path:
        return False
    handler.take(handler.double.session, body)
    handler.hang_up()
    return True


def test_an_answer_that_arrived_although_its_reply_was_lost_is_not_sent_twice(
    double: Double, owner: User
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    double.faults = [once(taken_and_hung_up, method="POST")]
    (ended,) = decide(asked(session), owner)
    assert ended.report == "refunded"
    assert double.session.ran == [PARAMS]
    assert len(double.posts) == 2


def test_words_that_arrived_although_their_reply_was_lost_are_not_said_twice(
    double: Double, owner: User
) -> None:
    agent = agent_at(double, owner)
    start(agent, owner)
    double.faults = [once(taken_and_hung_up, method="POST")]
    assert told(say(agent, owner, "once")) == "echo: helloecho: once"
    assert len(double.posts) == 2


def test_words_of_which_nobody_knows_are_sent_again_only_if_the_owner_says_so(
    double: Double, owner: User
) -> None:
    agent = agent_at(double, owner)
    start(agent, owner)
    double.faults = [once(hang_up, method="POST")]
    session = say(agent, owner, "once")
    ask = asked(session)
    assert "We don't know whether the agent received your message." in ask.prompt
    assert drive() == []
    (ended,) = decide(ask, owner, "again")
    assert ended.report == "echo: once"


def test_a_beginning_of_which_nobody_knows_is_not_begun_again(double: Double, owner: User) -> None:
    double.faults = [once(hang_up, method="POST")]
    session = start(agent_at(double, owner), owner)
    ask = asked(session)
    assert "We don't know" in ask.prompt
    (ended,) = decide(ask, owner, "end")
    assert (ended.outcome, double.sessions) == (Outcome.WORK_DONE, {})


@in_one_era
@pytest.mark.parametrize("status", [404, 409, 410])
def test_a_session_that_is_gone_is_said_and_the_owner_decides(
    double: Double, owner: User, status: int
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    code = "session_not_active" if status == 409 else ""
    double.faults = [once(says(status, code), method="POST")]
    decide(ask, owner)
    lost = asked(session)
    assert "The agent's session is gone." in lost.prompt
    assert "It did not receive “Approve”." in lost.prompt
    assert double.session.ran == []
    (ended,) = decide(lost, owner, "fresh")
    assert ended.outcome == Outcome.BLOCKED
    assert len(double.sessions) == 2
    assert asked(session).gate.params == PARAMS


def test_a_server_that_opens_another_session_instead_is_noticed(owner: User) -> None:
    """The old era does that for a token that it does not know."""
    with serving("seed") as double:
        session = say(agent_at(double, owner), owner, CALL)

        def another(handler: Handler) -> bool:
            handler.reply(200, {"ok": True, "sessionId": "wrun_other"})
            return True

        double.faults = [once(another, method="POST")]
        decide(asked(session), owner)
        assert "created another" in asked(session).prompt


@in_one_era
@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_what_the_server_will_not_have_is_said_and_stays_owed(
    double: Double, owner: User, status: int
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    double.faults = [once(says(status), method="POST")]
    (ended,) = decide(asked(session), owner)
    assert ended.give_up
    assert ended.error == f"The server says {status}: Not now."
    (again,) = tried_again(session, owner)
    assert again.report == "refunded"


def test_an_answer_that_the_agent_does_not_take_is_asked_again_with_what_it_says(
    owner: User,
) -> None:
    with serving("current") as double:
        session = say(agent_at(double, owner), owner, CALL)

        def only_the_requester(handler: Handler) -> bool:
            found = handler.double.session
            handler.reply(202, {"ok": True, "sessionId": found.name})
            with found.moved:
                found.say("message.completed", message="Only the requester can respond.")
                found.say("turn.waiting", on="input")
                found.moved.notify_all()
            return True

        double.faults = [once(only_the_requester, method="POST")]
        first = asked(session)
        decide(first, owner)
        again = asked(session)
        assert again.pk != first.pk
        assert "did not accept your answer" in again.prompt
        assert "Only the requester can respond." in again.prompt
        assert again.gate.action_hash == first.gate.action_hash
        (ended,) = decide(again, owner)
        assert ended.report == "refunded"
        assert double.session.ran == [PARAMS]


@in_one_era
def test_a_server_that_takes_an_answer_and_does_nothing_is_not_waited_for(
    double: Double, owner: User
) -> None:
    agent = agent_at(double, owner)
    session = say(agent, owner, CALL)
    Agent.objects.update(settings={**agent.settings, "patience_seconds": 0.3})

    def swallow(handler: Handler) -> bool:
        handler.reply(202, {"ok": True, "sessionId": handler.double.session.name})
        return True

    double.faults = [once(swallow, method="POST")]
    (ended,) = decide(asked(session), owner)
    assert ended.outcome == Outcome.RETRYABLE_ERROR
    assert "accepted the input, but did nothing" in ended.error


@in_one_era
@pytest.mark.parametrize(
    "request_",
    [
        {"requestId": ""},
        {"requestId": 7},
        {"requestId": "x", "options": [{"id": ""}]},
        {"requestId": "x", "options": "approve"},
    ],
)
def test_a_request_that_nobody_could_answer_ends_the_turn_in_words(
    double: Double, owner: User, request_: object
) -> None:
    event = {"type": "input.requested", "data": {"requests": [request_]}}
    line = json.dumps(event).encode() + b"\n"
    double.faults = [lambda handler: handler.command == "GET" and streams(line)(handler)]
    session = start(agent_at(double, owner), owner)
    assert "request is malformed" in Run.objects.get(session=session).error
    assert not Ask.objects.exists()
