"""The files dialect: what lies on the volume, when, and what the status says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from procrastinate.contrib.django.models import ProcrastinateJob

from agents.models import Agent, Event, Run, Session
from asks import withdrawing
from asks.answering import answer_ask
from asks.deadlines import expiry
from asks.models import Ask, Verdict
from tests.factories import echo_of
from tests.leaf.world import (
    ITEM,
    UNGATED,
    Brain,
    Folder,
    Orchestrator,
    carry_all,
    key_for,
    leaf_agent,
    say,
    session_of,
)
from workspace.protocols.leaf.server import publishing

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(volume: Path) -> Folder:
    return Folder(volume)


def run(orchestrator: Orchestrator, folder: Folder, **more: Any) -> dict[str, Any]:
    """Send, let it run, write what a job would write, and send again without a decision."""
    sent = orchestrator.send(folder.envelope(**more, later=True))
    assert sent.status_code == 202, sent.content
    carry_all()
    publish_all()
    said: dict[str, Any] = orchestrator.send(folder.envelope()).json()  # type: ignore[attr-defined]
    return said


def publish_all() -> None:
    """Do the jobs that are in the queue."""
    jobs = ProcrastinateJob.objects.filter(task_name=publishing.PUBLISH)
    for session_id in {job.args["session_id"] for job in jobs}:
        publishing.publish_session(session_id)


def marker(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def ask_status(orchestrator: Orchestrator, folder: Folder, *, gate: bool = True) -> dict[str, Any]:
    query = {"doneMarker": str(folder.done)} | ({"gateMarker": str(folder.gate)} if gate else {})
    said: dict[str, Any] = orchestrator.ask_status(**query).json()  # type: ignore[attr-defined]
    return said


@pytest.mark.case("leaf-H04")
def test_accepted_says_where_the_end_will_be(
    orchestrator: Orchestrator, folder: Folder, agent: Agent
) -> None:
    sent = orchestrator.send(folder.envelope(later=True))

    assert sent.status_code == 202
    assert sent.json() == {  # type: ignore[attr-defined]
        "status": "accepted",
        "sessionId": "run/1",
        "resultRef": str(folder.result),
        "doneMarker": str(folder.done),
    }
    assert ask_status(orchestrator, folder) == {"status": "queued"}


@pytest.mark.case("leaf-L06", "leaf-M02", "leaf-Q05", "leaf-H09")
def test_a_gate_is_on_the_volume(orchestrator: Orchestrator, folder: Folder) -> None:
    said = run(orchestrator, folder)

    assert said["status"] == "paused"
    assert (said["gateRef"], said["gateId"], said["sessionId"]) == (str(folder.gate), 0, "run/1")
    found = marker(folder.gate)
    assert found["status"] == "awaiting_approval"
    assert (found["sessionId"], found["gateId"]) == ("run/1", 0)
    assert found["gate"]["summary"]
    assert found["gate"]["proposed_action"]
    assert found["ts"].endswith("Z")
    assert folder.gate.read_text() == json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    assert not folder.result.exists()
    assert not folder.done.exists()
    assert ask_status(orchestrator, folder) == {"status": "awaiting_approval", "gateId": 0}
    assert ask_status(orchestrator, folder, gate=False)["status"] == "awaiting_approval"


@pytest.mark.case("leaf-L01", "leaf-C01", "leaf-Q03", "leaf-H06", "leaf-X8")
def test_a_verdict_is_on_the_volume_and_the_gate_is_gone(
    orchestrator: Orchestrator, folder: Folder
) -> None:
    run(orchestrator, folder)
    folder.write(folder.decision, {"gateId": 0, "action": "approve", "feedback": "fine"})

    said = run(orchestrator, folder, decided=True)

    assert said == {"status": "done", "sessionId": "run/1", "resultRef": str(folder.result)}
    assert marker(folder.result)["verdict"] == "FLAGGED"
    assert set(marker(folder.result)) == {"item_id", "verdict", "reason"}
    done = marker(folder.done)
    assert (done["status"], done["reason"], done["sessionId"]) == ("done", None, "run/1")
    assert not folder.gate.exists()
    assert ask_status(orchestrator, folder) == {"status": "done"}
    assert Verdict.objects.get().text == "fine"


@pytest.mark.case("leaf-L07", "leaf-C07", "leaf-Q06")
def test_an_abort_leaves_its_marker_and_no_result(
    orchestrator: Orchestrator, folder: Folder
) -> None:
    run(orchestrator, folder)
    folder.write(folder.decision, {"gateId": 0, "action": "abort"})

    assert run(orchestrator, folder, decided=True)["status"] == "aborted"

    assert marker(folder.done)["status"] == "aborted"
    assert not folder.gate.exists()
    assert not folder.result.exists()


def test_reject_then_a_new_gate(orchestrator: Orchestrator, folder: Folder) -> None:
    run(orchestrator, folder)
    folder.write(folder.decision, {"gateId": 0, "action": "reject", "feedback": "the callers"})
    run(orchestrator, folder, decided=True)
    assert marker(folder.gate)["gateId"] == 1
    assert "the callers" in marker(folder.gate)["gate"]["summary"]

    folder.write(folder.decision, {"gateId": 0, "action": "approve"})
    assert run(orchestrator, folder, decided=True)["gateId"] == 1
    folder.write(folder.decision, {"gateId": 1, "action": "approve"})
    assert run(orchestrator, folder, decided=True)["status"] == "done"


@pytest.mark.case("leaf-G06", "leaf-G07", "leaf-G08", "C35", "leaf-X5")
@pytest.mark.parametrize(
    "text",
    ["", "{", '{"gateId":0,"act', "null", "[]", '{"gateId":0,"action":"maybe"}', '{"gateId":"0"}'],
)
def test_a_garbled_decision_file_decides_nothing_and_is_seen(
    orchestrator: Orchestrator, folder: Folder, agent: Agent, text: str
) -> None:
    run(orchestrator, folder)
    folder.write(folder.decision, text)
    runs = Run.objects.count()

    assert run(orchestrator, folder, decided=True)["status"] == "paused"

    sent = orchestrator.send(folder.envelope(decided=True)).json()  # type: ignore[attr-defined]
    assert text == "null" or sent["refused"]["reason"] == "no_decision"
    assert Run.objects.count() == runs
    seen = Event.objects.filter(session=session_of(agent), kind="ignored")
    assert seen.count() == (0 if text == "null" else 1)


def test_a_decision_file_that_is_not_there_yet_is_no_decision(
    orchestrator: Orchestrator, folder: Folder, agent: Agent
) -> None:
    run(orchestrator, folder, decided=True)
    sent = orchestrator.send(folder.envelope(decided=True)).json()  # type: ignore[attr-defined]

    assert sent["status"] == "paused"
    assert "refused" not in sent


@pytest.mark.case("leaf-L03", "leaf-C02")
@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"item_id":"i1","file":"a.py"}'])
def test_bad_inputs(orchestrator: Orchestrator, folder: Folder, text: str | None) -> None:
    if text is None:
        folder.input.unlink()
    else:
        folder.write(folder.input, text)

    said = orchestrator.send(folder.envelope()).json()  # type: ignore[attr-defined]

    assert (said["status"], said["reason"]) == ("failed", "bad_inputs")
    assert marker(folder.done)["reason"] == "bad_inputs"
    assert not Session.objects.filter(is_home=False).exists()
    folder.write(folder.input, ITEM)
    assert run(orchestrator, folder)["status"] == "paused"
    assert not folder.done.exists()


@pytest.mark.case("leaf-L03", "leaf-Q04", "leaf-M09")
def test_bad_inputs_of_an_asynchronous_call(orchestrator: Orchestrator, folder: Folder) -> None:
    folder.write(folder.input, "{")

    assert orchestrator.send(folder.envelope(later=True)).status_code == 202

    assert ask_status(orchestrator, folder) == {"status": "failed", "reason": "bad_inputs"}


@pytest.mark.case("leaf-L02", "leaf-C03", "leaf-M09")
def test_a_failure_leaves_its_reason_and_no_result(
    owner: User, folder: Folder, volume: Path
) -> None:
    Brain("mute", [say()])
    agent = leaf_agent(owner, model="mute", volume=str(volume))
    orchestrator = Orchestrator(key_for(agent, owner))
    folder.write(folder.input, UNGATED)

    orchestrator.send(folder.envelope(later=True))
    carry_all()
    publish_all()

    assert marker(folder.done)["status"] == "failed"
    assert marker(folder.done)["reason"] == "no_verdict"
    assert not folder.result.exists()


@pytest.mark.case("leaf-C05", "leaf-L05")
def test_a_failure_that_is_tried_again_leaves_no_marker(
    owner: User, folder: Folder, volume: Path
) -> None:
    Brain("away", [OSError("away")])
    agent = leaf_agent(owner, model="away", volume=str(volume))
    orchestrator = Orchestrator(key_for(agent, owner))
    folder.write(folder.input, UNGATED)

    orchestrator.send(folder.envelope(later=True))
    carry_all()
    publish_all()

    assert not folder.done.exists()
    assert ask_status(orchestrator, folder)["status"] == "retrying"


@pytest.mark.case("leaf-L08", "leaf-M01", "leaf-M07")
def test_markers_may_be_elsewhere(orchestrator: Orchestrator, folder: Folder, volume: Path) -> None:
    elsewhere: dict[str, Any] = {
        "gateRef": f"{volume}/gates/g",
        "doneMarkerRef": f"{volume}/ends/d",
    }

    orchestrator.send(folder.envelope(later=True, **elsewhere))
    assert orchestrator.ask_status(doneMarker=elsewhere["doneMarkerRef"]).json() == {  # type: ignore[attr-defined]
        "status": "queued"
    }
    carry_all()
    publish_all()

    assert marker(volume / "gates/g")["gateId"] == 0
    assert not folder.gate.exists()


def test_an_answer_on_the_page_reaches_the_volume(
    orchestrator: Orchestrator, folder: Folder, agent: Agent, owner: User
) -> None:
    run(orchestrator, folder)
    ask = Ask.objects.get(agent=agent, status="open")

    answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    publish_all()
    assert not folder.gate.exists()
    assert ask_status(orchestrator, folder)["status"] == "resuming"
    carry_all()
    publish_all()

    assert marker(folder.result)["verdict"] == "FLAGGED"


def test_what_expires_or_is_taken_back_leaves_no_gate(
    orchestrator: Orchestrator, folder: Folder, agent: Agent, owner: User
) -> None:
    run(orchestrator, folder)
    Ask.objects.update(expires_at="2020-01-01T00:00:00Z")

    assert expiry.expire_due_asks() == 1
    publish_all()

    assert not folder.gate.exists()
    assert marker(folder.done)["status"] == "expired"


def test_a_gate_that_was_taken_back_is_asked_anew(
    orchestrator: Orchestrator, folder: Folder, agent: Agent, owner: User
) -> None:
    run(orchestrator, folder)

    withdrawing.withdraw_ask(ask_id=Ask.objects.get().pk, by=owner)
    carry_all()
    publish_all()

    assert marker(folder.gate)["gateId"] == 1


@pytest.mark.case("leaf-X8")
def test_a_marker_that_was_lost_is_written_again(
    orchestrator: Orchestrator, folder: Folder, agent: Agent
) -> None:
    run(orchestrator, folder)
    folder.gate.unlink()
    runs = Run.objects.count()

    orchestrator.send(folder.envelope(later=True))

    assert marker(folder.gate)["gateId"] == 0
    assert Run.objects.count() == runs


def test_every_move_has_its_job_in_the_queue(
    orchestrator: Orchestrator, folder: Folder, agent: Agent
) -> None:
    orchestrator.send(folder.envelope(later=True))
    jobs = ProcrastinateJob.objects.filter(task_name=publishing.PUBLISH)
    assert jobs.count() == 0
    carry_all()
    assert jobs.count() == 1
    folder.write(folder.decision, {"gateId": 0, "action": "abort"})
    orchestrator.send(folder.envelope(decided=True, later=True))
    assert jobs.count() == 2
    carry_all()
    assert jobs.count() == 3
