"""The runtime ``leaf-remote``: somebody else's sessions in our queue, and what they do wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import Outcome, Status
from agents.models import Agent, Event
from asks.queue import queries
from tests.factories import home_of
from tests.leaf.harnesses import Answer, Driver, OurServer, Scripted, done, paused, remote_agent
from tests.leaf.world import ITEM, Orchestrator, key_for, leaf_agent, session_of, standing
from workspace.protocols.leaf.server import state

pytestmark = pytest.mark.django_db


def driver(owner: User, transport: httpx.AsyncBaseTransport, **settings: Any) -> Driver:
    """A driver whose owner has just told it what to review."""
    made = Driver(remote_agent(owner, **settings), owner, transport)
    home = home_of(made.agent)
    messages.post_message(session_id=home.pk, by=owner, text=json.dumps(ITEM))
    return made


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("dialect", ["inline", "files"])
def test_a_whole_sequence_at_our_own_server(
    owner: User, stranger: User, volume: Path, dialect: str, *, asynchronous: bool
) -> None:
    theirs = leaf_agent(stranger, slug="theirs", volume=str(volume))
    server = OurServer(key_for(theirs, stranger), theirs)
    settings = {"volume": str(volume), "dialect": dialect, "asynchronous": asynchronous}
    mine = driver(owner, server, **settings)

    mine.carry()
    assert mine.ask.gate.params["gate"] == 0
    assert mine.ask.prompt == mine.ask.gate.params["summary"]
    mine.choose("reject", "check the callers")
    assert mine.ask.gate.params["gate"] == 1
    assert "check the callers" in mine.ask.prompt
    (ended,) = mine.choose("approve", "fine")

    assert ended.outcome == Outcome.WORK_DONE
    assert ended.report.startswith("**FLAGGED** for i1.")
    assert mine.word == "done"
    assert standing(theirs).word == "done"
    decided = state.read_log(session_of(theirs).pk).decisions
    assert [(one.action, one.feedback) for one in decided] == [
        ("reject", "check the callers"),
        ("approve", "fine"),
    ]


def test_an_abort_reaches_the_harness(owner: User, stranger: User) -> None:
    theirs = leaf_agent(stranger, slug="theirs")
    mine = driver(owner, OurServer(key_for(theirs, stranger), theirs))
    mine.carry()

    mine.choose("abort")

    assert standing(theirs).word == "aborted"
    assert mine.word == "aborted"


def test_the_whole_envelope_is_sent_again_with_the_decision(owner: User) -> None:
    harness = Scripted(posts=[paused(binding={"action_hash": "v1:x"}), done()], statuses=[paused()])
    mine = driver(owner, harness, model="their-model")
    mine.carry()

    mine.choose("approve", "fine")

    first, second = harness.sent
    decision = second.pop("decision")
    assert first == second
    assert first["item"] == ITEM
    assert first["model"] == "their-model"
    assert decision == {
        "gateId": 0,
        "action": "approve",
        "feedback": "fine",
        "binding": {"action_hash": "v1:x"},
    }


def test_the_card_is_bound_to_what_the_harness_said(owner: User) -> None:
    mine = driver(owner, Scripted(posts=[paused(3, "They looked.")]))
    mine.carry()
    params = mine.ask.gate.params

    assert mine.ask.prompt == "They looked."
    assert (params["summary"], params["proposed_action"]) == ("They looked.", "Flag it.")
    assert (params["gate"], params["harness"]) == (3, "http://harness.test")
    assert [option.key for option in mine.ask.options.order_by("position")] == [
        "approve",
        "reject",
        "abort",
    ]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_harness_that_still_waits_has_refused_the_decision(
    owner: User, *, asynchronous: bool
) -> None:
    refused = paused(refused={"reason": "stale", "detail": "That gate is not this one."})
    posts: list[Answer] = [{"status": "accepted"}] if asynchronous else [paused(), refused]
    mine = driver(owner, Scripted(posts=posts, statuses=[paused()]), asynchronous=asynchronous)
    mine.carry()

    mine.choose("approve")

    assert mine.ask.prompt.startswith(
        "**Refused by the runtime.** It still waits at gate 0 after “approve” was sent."
    )
    assert asynchronous or "That gate is not this one." in mine.ask.prompt
    assert queries.count_badge(owner) == 1
    assert mine.session.status == Status.WAITING_HUMAN


def test_old_news_of_an_asynchronous_harness_is_no_refusal(owner: User) -> None:
    harness = Scripted(
        posts=[{"status": "accepted"}],
        statuses=[paused(), paused(), paused(), paused(), {"status": "running"}, done()],
    )
    mine = driver(owner, harness, asynchronous=True, settle_seconds=30)
    mine.carry()

    mine.choose("approve")

    assert mine.word == "done"


@pytest.mark.parametrize(
    "lost",
    [
        {"status": "queued"},
        {"status": "queued", "known": False},
        {"status": "unknown"},
        (404, {"error": "session_not_found"}),
    ],
    ids=["queued", "not-known", "unknown", "404"],
)
def test_a_harness_that_forgot_a_parked_session_has_lost_it(owner: User, lost: Answer) -> None:
    harness = Scripted(posts=[paused(2)], statuses=[lost])
    mine = driver(owner, harness)
    mine.carry()

    mine.choose("approve")

    assert len(harness.sent) == 1
    assert mine.ask.prompt.startswith("**Lost by the runtime.** The session was parked at gate 2")
    assert "Your decision “approve” was not sent." in mine.ask.prompt
    assert queries.count_badge(owner) == 1
    assert mine.session.status == Status.WAITING_HUMAN
    assert state.current_state(mine.session).reason == "lost"


def test_a_lost_session_can_be_sent_again(owner: User) -> None:
    harness = Scripted(posts=[paused(), done()], statuses=[{"status": "queued"}])
    mine = driver(owner, harness)
    mine.carry()
    mine.choose("approve", "fine")

    mine.choose("again")

    assert harness.sent[-1]["decision"]["feedback"] == "fine"
    assert mine.word == "done"


def test_a_lost_session_can_be_started_afresh(owner: User) -> None:
    harness = Scripted(
        posts=[paused(), paused(0, "From the start.")], statuses=[{"status": "queued"}]
    )
    mine = driver(owner, harness)
    mine.carry()
    mine.choose("approve")

    mine.choose("fresh")

    assert "decision" not in harness.sent[-1]
    assert harness.sent[-1]["sessionId"] == f"{harness.sent[0]['sessionId']}.2"
    assert mine.ask.prompt == "From the start."


def test_a_lost_session_can_be_ended(owner: User) -> None:
    harness = Scripted(posts=[paused()], statuses=[{"status": "queued"}])
    mine = driver(owner, harness)
    mine.carry()
    mine.choose("approve")

    mine.choose("end")

    assert mine.asks == []
    assert len(harness.sent) == 1
    assert (mine.word, state.current_state(mine.session).reason) == ("failed", "ended")


def test_a_dropped_connection_is_asked_about(owner: User) -> None:
    broken = httpx.ReadError("dropped")
    harness = Scripted(posts=[paused(), broken], statuses=[paused(), done()])
    mine = driver(owner, harness)
    mine.carry()

    mine.choose("approve")

    assert mine.word == "done"


def test_a_harness_that_is_away_gets_the_decision_later(owner: User) -> None:
    away = httpx.ConnectError("refused")
    harness = Scripted(posts=[paused(), away, done()], statuses=[paused(), away, paused()])
    mine = driver(owner, harness)
    mine.carry()

    (ended,) = mine.choose("approve", "fine")
    assert ended.outcome == Outcome.RETRYABLE_ERROR
    assert mine.session.status == Status.BACKING_OFF
    controls.start_session(session_id=mine.session.pk, by=owner)
    mine.carry()

    assert harness.sent[-1]["decision"]["feedback"] == "fine"
    assert mine.word == "done"


@pytest.mark.case("leaf-H15")
def test_a_harness_without_room_is_waited_for(owner: User) -> None:
    mine = driver(owner, Scripted(posts=[(503, {"status": "failed", "reason": "saturated"})]))

    (ended,) = mine.carry()

    assert ended.outcome == Outcome.RATE_LIMITED
    assert mine.session.status == Status.WAITING_RESOURCE


@pytest.mark.parametrize(
    "answer",
    [
        (500, {"error": "boom"}),
        {"no": "status"},
        {"status": "solved", "patch": ""},
        {"status": "done", "verdict": {"item_id": "i1", "verdict": "MAYBE", "reason": ""}},
        {"status": "failed", "reason": "error", "message": "model away"},
        {"status": "paused"},
        b'{"status": "paused", "gateId": ' + b"[" * 5_000,
        b'{"status": "done", "verdict": ' + b"[" * 300 + b"]" * 300 + b"}",
    ],
)
def test_what_is_no_answer_is_tried_again(owner: User, answer: Any) -> None:
    mine = driver(owner, Scripted(posts=[answer], statuses=[(500, {})]))

    (ended,) = mine.carry()

    assert ended.outcome == Outcome.RETRYABLE_ERROR
    assert not ended.give_up
    assert mine.asks == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409])
def test_what_the_harness_will_never_have_is_given_up(owner: User, status: int) -> None:
    mine = driver(owner, Scripted(posts=[(status, {"error": "envelope_invalid"})]))

    mine.carry()

    assert mine.session.status == Status.FAILING
    assert "envelope_invalid" in state.current_state(mine.session).message


def test_a_failure_of_the_harness_is_told(owner: User) -> None:
    mine = driver(owner, Scripted(posts=[{"status": "failed", "reason": "no_verdict"}]))

    (ended,) = mine.carry()

    assert ended.outcome == Outcome.NO_WORK
    assert "no_verdict" in ended.error


def test_it_gives_up_after_its_limit(owner: User) -> None:
    mine = driver(owner, Scripted(posts=[(500, {})], statuses=[(500, {})]), max_attempts=2)
    mine.carry()
    controls.start_session(session_id=mine.session.pk, by=owner)

    mine.carry()

    assert mine.session.status == Status.FAILING


def test_the_key_comes_from_the_workers_environment(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Scripted(posts=[paused()])
    mine = driver(owner, harness, key_variable="HARNESS_KEY")
    mine.carry()
    assert "HARNESS_KEY" in state.current_state(mine.session).message
    monkeypatch.setenv("HARNESS_KEY", "secret")

    controls.resume_session(session_id=mine.session.pk, by=owner)
    mine.carry()

    assert harness.headers[-1]["Authorization"] == "Bearer secret"
    assert mine.word == "paused"


def test_a_message_to_a_harness_is_not_lost_silently(owner: User) -> None:
    mine = driver(owner, Scripted(posts=[paused()], statuses=[paused()]))
    mine.carry()

    messages.post_message(session_id=mine.session.pk, by=owner, text="Why?")
    mine.carry()

    ignored = Event.objects.get(session=mine.session, kind="ignored")
    assert (ignored.text, ignored.data["why"]) == (
        "Why?",
        "a harness accepts decisions, not messages",
    )
    assert mine.ask.gate.params["gate"] == 0


def test_our_door_passes_on_to_a_harness(owner: User) -> None:
    harness = Scripted(posts=[paused(), done()], statuses=[paused()])
    agent: Agent = remote_agent(owner)
    mine = Driver(agent, owner, harness)
    orchestrator = Orchestrator(key_for(agent, owner))
    envelope = {"sessionId": "run/1", "item": ITEM, "tenant": "acme", "maxTurns": 7}

    orchestrator.send({**envelope, "async": True})
    mine.carry()
    assert orchestrator.status("run/1", tenant="acme")["gateId"] == 0
    mine.choose("approve")

    assert orchestrator.status("run/1", tenant="acme")["status"] == "done"
    assert {**harness.sent[0], "item": ITEM} == {**envelope, "item": ITEM}


def test_the_harness_knows_the_volume_by_another_path(owner: User, volume: Path) -> None:
    marker = {"sessionId": "x", "gateId": 0, "gate": {"summary": "s", "proposed_action": "p"}}

    class Harness(Scripted):
        """Reads and writes the volume as /mnt/leaf."""

        def _answer(self, request: httpx.Request) -> httpx.Response:
            response = super()._answer(request)
            if request.method == "POST":
                refs = self.sent[-1]
                place = refs["resultRef"].replace("/mnt/leaf", str(volume)) + ".gate"
                Path(place).write_text(json.dumps({"status": "awaiting_approval", **marker}))
            return response

    harness = Harness(posts=[{"status": "paused", "gateId": 0}])
    files = {"dialect": "files", "volume": str(volume), "volume_known_as": "/mnt/leaf"}
    mine = driver(owner, harness, **files)

    mine.carry()

    refs = harness.sent[0]
    assert refs["inputsRef"].startswith("/mnt/leaf/needs-you/")
    there = Path(refs["inputsRef"].replace("/mnt/leaf", str(volume)))
    assert json.loads(there.read_text()) == ITEM
    assert mine.ask.gate.params["proposed_action"] == "p"
