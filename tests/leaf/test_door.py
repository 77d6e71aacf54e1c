"""POST /runs and GET /runs/status, inline: what orchestrators send and are told."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import controls
from agents.models import Agent, Event, Run, Session
from asks.models import Refusal, Verdict
from tests.leaf.world import (
    ITEM,
    UNGATED,
    Brain,
    Orchestrator,
    carry_all,
    key_for,
    leaf_agent,
    say,
    session_of,
)

pytestmark = pytest.mark.django_db

ENVELOPE = {"sessionId": "run/1", "item": ITEM}


@pytest.mark.case("leaf-H01", "leaf-H05")
@pytest.mark.parametrize("more", [{}, {"async": True}])
def test_a_malformed_envelope_starts_nothing(
    orchestrator: Orchestrator, more: dict[str, Any]
) -> None:
    for body in (b"{nope", b"null", {"sessionId": "x", **more}, {"item": ITEM, **more}):
        sent = orchestrator.send(body)

        assert sent.status_code == 400
        assert sent.json()["error"] == "envelope_invalid"  # type: ignore[attr-defined]
    assert not Session.objects.filter(is_home=False).exists()


@pytest.mark.case("leaf-H04", "leaf-W01")
def test_an_asynchronous_call_is_accepted_and_queues_one_run(
    orchestrator: Orchestrator, agent: Agent
) -> None:
    sent = orchestrator.send({**ENVELOPE, "async": True})

    assert sent.status_code == 202
    assert sent.json() == {"status": "accepted", "sessionId": "run/1"}  # type: ignore[attr-defined]
    assert Run.objects.filter(session=session_of(agent)).count() == 1
    assert orchestrator.status()["status"] == "queued"


@pytest.mark.case("leaf-H02", "leaf-H13", "leaf-L06", "leaf-S02", "leaf-S03", "leaf-S06")
def test_a_whole_sequence(orchestrator: Orchestrator, agent: Agent) -> None:
    parked = orchestrator.run()
    assert parked["status"] == "paused"
    assert parked["gateId"] == 0
    assert set(parked["gate"]) == {"summary", "proposed_action"}
    assert parked["binding"]["action_hash"].startswith("v1:")
    told = orchestrator.status()
    assert told["gate"] == {"gateId": 0, **parked["gate"]}
    assert "verdict" not in told

    again = orchestrator.decide(0, "reject", "check the callers")
    assert (again["status"], again["gateId"]) == ("paused", 1)
    assert "check the callers" in again["gate"]["summary"]

    done = orchestrator.decide(1, "approve", "fine")
    verdict = {"item_id": "i1", "verdict": "FLAGGED"}
    assert done["status"] == "done"
    assert {**done["verdict"], **verdict} == done["verdict"]
    assert orchestrator.status() == {"status": "done", "verdict": done["verdict"]}
    assert Verdict.objects.filter(ask__session=session_of(agent)).count() == 2


@pytest.mark.case("leaf-R05", "leaf-G25", "leaf-G26")
def test_nothing_changes_once_it_is_over(orchestrator: Orchestrator, agent: Agent) -> None:
    orchestrator.run()
    orchestrator.decide(0, "approve")
    before, runs = orchestrator.status(), Run.objects.count()

    assert "refused" not in orchestrator.decide(0, "approve")
    assert orchestrator.decide(0, "reject", "no")["refused"]["reason"] == "closed"
    assert orchestrator.decide(0, "abort")["refused"]["reason"] == "closed"

    assert orchestrator.status() == before
    assert Run.objects.count() == runs


@pytest.mark.case("leaf-L07", "leaf-G22")
def test_an_abort_is_for_good(orchestrator: Orchestrator, agent: Agent) -> None:
    orchestrator.run()

    assert orchestrator.decide(0, "abort") == {"status": "aborted", "sessionId": "run/1"}
    assert orchestrator.decide(0, "approve")["status"] == "aborted"
    assert orchestrator.status() == {"status": "aborted"}


@pytest.mark.case("leaf-G23", "leaf-G24", "leaf-X5", "C34")
@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        ({"gateId": 7, "action": "approve"}, "no_such_gate"),
        ({"gateId": 0, "action": "maybe"}, "no_decision"),
        ({"gateId": "0", "action": "approve"}, "no_decision"),
        ({"gateId": 2**70, "action": "approve"}, "no_decision"),
        ("approve", "no_decision"),
        ([], "no_decision"),
    ],
)
def test_what_decides_nothing_is_told_why(
    orchestrator: Orchestrator, agent: Agent, decision: object, reason: str
) -> None:
    parked = orchestrator.run()
    runs = Run.objects.count()

    told = orchestrator.run(decision=decision)

    assert told["refused"]["reason"] == reason
    assert told["refused"]["detail"]
    assert {**told, "refused": None} == {**parked, "refused": None}
    assert Run.objects.count() == runs
    assert not Verdict.objects.exists()


@pytest.mark.case("leaf-G24", "leaf-X5", "C34")
def test_the_last_gates_approval_does_not_answer_this_one(
    orchestrator: Orchestrator, agent: Agent
) -> None:
    orchestrator.run()
    orchestrator.decide(0, "reject")

    told = orchestrator.decide(0, "approve")

    assert (told["status"], told["gateId"]) == ("paused", 1)
    assert told["refused"]["reason"] == "closed"
    assert Refusal.objects.get(ask__gate__number=0).via == "leaf"


@pytest.mark.case("C35")
def test_a_garbled_decision_is_seen_by_the_owner_once(
    orchestrator: Orchestrator, agent: Agent
) -> None:
    orchestrator.run()
    for _ in range(3):
        orchestrator.run(decision="approve")

    (seen,) = Event.objects.filter(session=session_of(agent), kind="ignored")
    assert seen.data["why"] == "decision must be an object. Nothing was decided."


@pytest.mark.case("leaf-X6", "C28")
def test_a_decision_may_be_held_to_what_was_shown(orchestrator: Orchestrator, agent: Agent) -> None:
    shown = orchestrator.run()["binding"]

    other = {**shown, "action_hash": "v1:" + "0" * 64}
    told = orchestrator.run(decision={"gateId": 0, "action": "approve", "binding": other})
    assert told["refused"]["reason"] == "stale"
    assert told["status"] == "paused"
    told = orchestrator.run(decision={"gateId": 0, "action": "approve", "binding": {}})
    assert told["refused"]["reason"] == "unbindable"
    told = orchestrator.run(decision={"gateId": 0, "action": "approve", "binding": shown})
    assert told["status"] == "done"
    assert Verdict.objects.get().echo == shown


@pytest.mark.case("leaf-X6", "C24")
def test_what_has_drifted_is_asked_anew_under_a_new_number(
    orchestrator: Orchestrator, agent: Agent, owner: User
) -> None:
    orchestrator.run()
    session = session_of(agent)
    Run.objects.filter(session=session).update(epoch=9)

    told = orchestrator.decide(0, "approve")

    assert (told["status"], told["gateId"]) == ("paused", 1)
    assert told["refused"]["reason"] == "stale"
    assert orchestrator.decide(1, "approve")["status"] == "done"


@pytest.mark.case("leaf-X6")
@pytest.mark.parametrize("field", ["item_id", "file", "pattern", "require_approval"])
def test_a_session_reviews_one_item(orchestrator: Orchestrator, agent: Agent, field: str) -> None:
    orchestrator.run()
    other = {**ITEM, field: False if field == "require_approval" else "other"}

    sent = orchestrator.send({"sessionId": "run/1", "item": other})

    assert sent.status_code == 409
    assert sent.json()["error"] == "envelope_conflict"  # type: ignore[attr-defined]


@pytest.mark.case("leaf-X10", "leaf-S01", "leaf-Q09")
def test_names_and_tenants_do_not_collide(orchestrator: Orchestrator, agent: Agent) -> None:
    names = [("", "p/m/x"), ("", "p-m-x"), ("p", "m/x")]
    for number, (tenant, name) in enumerate(names):
        item = {**UNGATED, "item_id": f"i{number}"}
        assert orchestrator.run(name, tenant=tenant, item=item)["sessionId"] == name

    assert Session.objects.filter(agent=agent, is_home=False).count() == 3
    told = [orchestrator.status(name, tenant=tenant)["verdict"] for tenant, name in names]
    assert [verdict["item_id"] for verdict in told] == ["i0", "i1", "i2"]
    assert orchestrator.status("m/x", tenant="other")["known"] is False


@pytest.mark.case("leaf-H07", "leaf-H11", "leaf-S07", "leaf-X8")
def test_an_unknown_session_is_not_known(orchestrator: Orchestrator) -> None:
    assert orchestrator.status("never") == {"status": "queued", "known": False}


@pytest.mark.case("leaf-H12")
def test_a_status_needs_a_name(orchestrator: Orchestrator) -> None:
    for query in ({}, {"sessionId": ""}, {"tenant": "t"}):
        asked = orchestrator.ask_status(**query)
        assert asked.status_code == 400
        assert asked.json()["error"] == "sessionId_required"  # type: ignore[attr-defined]


@pytest.mark.case("leaf-X8")
def test_the_status_tells_what_is_under_way(orchestrator: Orchestrator, agent: Agent) -> None:
    from tests.leaf.world import claimed

    orchestrator.send({**ENVELOPE, "async": True})
    assert orchestrator.status() == {"status": "queued"}
    turn = claimed()
    assert turn is not None
    assert orchestrator.status() == {"status": "running"}
    controls.stop_session(session_id=turn.session_id, by=agent.owners.get())
    controls.resume_session(session_id=turn.session_id, by=agent.owners.get())
    carry_all()
    decision = {"gateId": 0, "action": "approve"}
    orchestrator.send({**ENVELOPE, "async": True, "decision": decision})
    assert orchestrator.status() == {"status": "resuming"}
    carry_all()
    assert orchestrator.status()["status"] == "done"


@pytest.mark.case("leaf-H15", "leaf-H17", "leaf-H18", "leaf-C08", "leaf-L09")
@pytest.mark.parametrize(("told", "after"), [("", "5"), ("nonsense", "5"), ("-3", "5"), ("7", "7")])
def test_without_a_free_worker_the_caller_is_told_to_come_again(
    orchestrator: Orchestrator,
    agent: Agent,
    monkeypatch: pytest.MonkeyPatch,
    told: str,
    after: str,
) -> None:
    monkeypatch.setenv("LEAF_SYNC_QUEUE_SECONDS", "0.05")
    monkeypatch.setenv("LEAF_SYNC_RETRY_AFTER_SECONDS", told)

    sent = orchestrator.send(ENVELOPE)

    assert sent.status_code == 503
    assert sent["Retry-After"] == after
    assert sent.json() == {"status": "failed", "reason": "saturated"}  # type: ignore[attr-defined]
    assert not session_of(agent).data["failed"]


@pytest.mark.case("leaf-H16")
def test_the_same_call_again_finds_the_same_run(
    orchestrator: Orchestrator, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAF_SYNC_QUEUE_SECONDS", "0.05")
    assert orchestrator.send(ENVELOPE).status_code == 503
    carry_all()

    sent = orchestrator.send(ENVELOPE)

    assert sent.status_code == 200
    assert sent.json()["gateId"] == 0  # type: ignore[attr-defined]
    assert Run.objects.filter(session=session_of(agent)).count() == 1


@pytest.mark.case("leaf-H17")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [(text, 30) for text in (None, "", "nonsense", "-1", "0", "nan", "inf")] + [("2.5", 2.5)],
)
def test_a_time_that_is_none_counts_as_not_set(text: str | None, seconds: float) -> None:
    from workspace.protocols.leaf.server.views import seconds_of

    assert seconds_of(text, 30) == seconds


@pytest.mark.case("leaf-H03", "leaf-H14")
def test_the_old_names_still_work_and_warn(
    orchestrator: Orchestrator, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    sent = orchestrator.send({**ENVELOPE, "async": True}, path="/run-leaf")
    asked = orchestrator.ask_status("/run-leaf/status", sessionId="run/1")

    assert sent.status_code == 202
    assert asked.json() == {"status": "queued"}  # type: ignore[attr-defined]
    warnings = [record.message for record in caplog.records if "/run-leaf" in record.message]
    assert len(warnings) == 2
    assert all("/runs" in warning for warning in warnings)


@pytest.mark.case("leaf-H19")
def test_other_paths_and_methods_are_nothing(orchestrator: Orchestrator) -> None:
    assert orchestrator.send(ENVELOPE, path="/runs/").status_code in (401, 403, 404)
    assert orchestrator.send(ENVELOPE, path="/runs/status").status_code == 405
    assert orchestrator.ask_status("/runs").status_code == 405


@pytest.mark.case("leaf-S04")
def test_a_failure_says_its_reason(owner: User) -> None:
    Brain("mute", [say()])
    orchestrator = Orchestrator(key_for(leaf_agent(owner, model="mute"), owner))

    orchestrator.send({"sessionId": "run/1", "item": UNGATED, "async": True})
    carry_all()

    told = orchestrator.status()
    assert (told["status"], told["reason"]) == ("failed", "no_verdict")
    assert "message" in told
