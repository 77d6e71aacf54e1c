"""The runtime ``leaf``: what each kind of turn ends as, and that a failure is never an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from pydantic_ai.exceptions import ModelHTTPError

from agents import controls, messages
from agents.lifecycle import InboxState, Outcome, RunStatus, Status
from agents.models import Agent, Event, Run
from asks.answering import Answered, answer_ask
from asks.models import Ask
from tests.factories import echo_of, home_of
from tests.leaf.world import (
    ITEM,
    UNGATED,
    Brain,
    Orchestrator,
    ask_approval,
    carry_all,
    claimed,
    key_for,
    kinds,
    leaf_agent,
    play,
    say,
    session_of,
    standing,
    submit,
)
from workspace.protocols.leaf.server import state

pytestmark = pytest.mark.django_db


def thinking(
    owner: User, *responses: Any, item: Any = ITEM, **settings: Any
) -> tuple[Agent, Brain]:
    """An agent with a brain of one's own whose session was just opened."""
    brain = Brain("own", *responses)
    agent = leaf_agent(owner, model="own", **settings)
    sent = Orchestrator(key_for(agent, owner)).send({"sessionId": "s", "item": item, "async": True})
    assert sent.status_code == 202
    return agent, brain


def decide(agent: Agent, by: User, option: str, text: str = "") -> Ask:
    ask = Ask.objects.get(agent=agent, status="open")
    done = answer_ask(ask_id=ask.pk, by=by, option=option, text=text, echo=echo_of(ask))
    assert isinstance(done, Answered)
    return ask


@pytest.mark.case("leaf-L01", "leaf-C01", "leaf-Q03")
def test_a_verdict_is_done(owner: User) -> None:
    agent, _ = thinking(owner, [submit()], item=UNGATED)

    (ended,) = carry_all()

    assert ended.outcome == Outcome.WORK_DONE
    assert standing(agent).word == "done"
    assert standing(agent).verdict == {
        "item_id": "i1",
        "verdict": "FLAGGED",
        "reason": "It is there.",
    }
    assert session_of(agent).inbox.exclude(state=InboxState.ACKED).count() == 0


@pytest.mark.case(
    "leaf-L06", "leaf-C06", "leaf-Q05", "leaf-G09", "leaf-G10", "leaf-G11", "leaf-G12"
)
def test_a_gate_parks_and_is_a_row(owner: User) -> None:
    agent, brain = thinking(owner, [ask_approval("I looked.", "Flag it.")])

    carry_all()

    session, found = session_of(agent), state.read_log(session_of(agent).pk)
    assert Run.objects.get(session=session).status == RunStatus.WAITING_HUMAN
    assert session.status == Status.WAITING_HUMAN
    assert [(one.gate_id, one.summary, one.proposed_action) for one in found.requests] == [
        (0, "I looked.", "Flag it.")
    ]
    assert found.decisions == []
    assert brain.calls == 1
    decide(agent, owner, "reject", "look again")
    found = state.read_log(session.pk)
    assert [(one.gate_id, one.action, one.feedback) for one in found.decisions] == [
        (0, "reject", "look again")
    ]
    assert found.state.pending is None


def test_other_asks_and_other_actions_are_no_gates(owner: User) -> None:
    from asks.drafts import ActionDraft
    from tests.factories import ask, draft

    agent = leaf_agent(owner)
    other = ActionDraft("stripe.refund", {"summary": "s", "proposed_action": "p"})
    odd = ActionDraft(state.OPERATION, {"summary": 1, "proposed_action": "p"})
    asked = ask(home_of(agent), draft(), draft(action=other), draft(action=odd))

    assert len(asked) == 3
    assert state.read_log(home_of(agent).pk).requests == []


@pytest.mark.case("leaf-L07", "leaf-C07", "leaf-Q06", "leaf-G22", "leaf-G26")
def test_an_abort_ends_it_without_the_agent(owner: User) -> None:
    agent, brain = thinking(owner, [ask_approval()], [submit()])
    carry_all()

    decide(agent, owner, "abort")
    assert standing(agent).word == "aborted"
    (ended,) = carry_all()

    assert ended.outcome == Outcome.WORK_DONE
    assert brain.calls == 1
    assert standing(agent).word == "aborted"
    controls.start_session(session_id=session_of(agent).pk, by=owner)
    carry_all()
    assert brain.calls == 1
    assert standing(agent).word == "aborted"
    assert not session_of(agent).data["result"]


@pytest.mark.case("leaf-X2")
def test_an_abort_wins_over_a_verdict_of_the_same_turn(owner: User) -> None:
    agent, _ = thinking(owner, [submit(), ask_approval()], item=UNGATED)
    carry_all()
    assert standing(agent).word == "paused"

    decide(agent, owner, "abort")
    carry_all()

    assert standing(agent).word == "aborted"
    assert standing(agent).verdict is None


@pytest.mark.case("leaf-X4")
def test_no_verdict_after_a_rejection_without_a_later_approval(owner: User) -> None:
    agent, brain = thinking(
        owner, [ask_approval()], [submit()], [ask_approval("revised")], [submit()]
    )
    carry_all()

    decide(agent, owner, "reject", "check the callers")
    carry_all()
    assert standing(agent).word == "paused"
    assert brain.tools[1:3] == [{"request_approval"}] * 2
    assert "REJECTED. check the callers" in brain.prompts[-1]
    decide(agent, owner, "approve")
    carry_all()

    assert standing(agent).word == "done"
    assert [gate.number for gate in state.read_log(session_of(agent).pk).gates] == [0, 1]


@pytest.mark.case("leaf-C03", "leaf-Q04", "leaf-L02")
def test_no_verdict_is_told_and_not_tried_again_by_itself(owner: User) -> None:
    agent, brain = thinking(owner, [say("Nothing.")], item=UNGATED)

    carry_all()

    assert (standing(agent).word, standing(agent).reason) == ("failed", "no_verdict")
    assert session_of(agent).wake_at is None
    assert brain.calls == 1
    assert session_of(agent).data["result"] is None


@pytest.mark.case("leaf-C04")
def test_an_invalid_verdict_is_told_and_not_tried_again_by_itself(owner: User) -> None:
    agent, _ = thinking(owner, [submit("MAYBE")], item=UNGATED)

    carry_all()

    assert (standing(agent).word, standing(agent).reason) == ("failed", "invalid_verdict")
    assert session_of(agent).wake_at is None


@pytest.mark.case("leaf-C05", "leaf-Q07", "leaf-L05", "leaf-X7")
def test_a_model_that_is_away_is_tried_again_with_the_same_words(owner: User) -> None:
    agent, brain = thinking(owner, [ask_approval()], [ModelHTTPError(500, "m")], [submit()])
    carry_all()
    decide(agent, owner, "approve", "fine")

    carry_all()
    session = session_of(agent)
    assert standing(agent).word == "retrying"
    assert session.status == Status.BACKING_OFF
    assert session.inbox.filter(kind="verdict").get().state == InboxState.QUEUED
    controls.start_session(session_id=session.pk, by=owner)
    carry_all()

    assert standing(agent).word == "done"
    approvals = [prompt for prompt in brain.prompts if "APPROVED" in prompt]
    assert approvals == [brain.prompts[-1]]


@pytest.mark.case("leaf-C08", "leaf-L09")
def test_a_limit_is_waited_for(owner: User) -> None:
    from pydantic_ai.exceptions import ModelRateLimitError

    agent, _ = thinking(owner, [ModelRateLimitError("m", "slow down")], item=UNGATED)

    (ended,) = carry_all()

    assert ended.outcome == Outcome.RATE_LIMITED
    assert session_of(agent).status == Status.WAITING_RESOURCE
    wake_at = session_of(agent).wake_at
    assert wake_at is not None
    assert wake_at > datetime.now(UTC) + timedelta(seconds=20)


@pytest.mark.case("leaf-Q02", "leaf-W08", "leaf-W09")
def test_after_the_limit_it_is_given_up_until_a_person_says_so(owner: User) -> None:
    agent, brain = thinking(owner, [ModelHTTPError(500, "m")], item=UNGATED, max_attempts=3)
    session = session_of(agent)
    for attempt in (1, 2):
        carry_all()
        assert standing(agent).word == "retrying"
        assert standing(agent).attempts == attempt
        controls.start_session(session_id=session.pk, by=owner)

    carry_all()

    found = session_of(agent)
    assert (standing(agent).word, standing(agent).reason) == ("failed", "error")
    assert found.status == Status.FAILING
    assert (
        found.status_reason == "Given up after it failed 3 times in a row. A person tries it again."
    )
    assert not Run.objects.filter(session=session, status=RunStatus.QUEUED).exists()
    brain._responses = [[submit()]]
    controls.resume_session(session_id=session.pk, by=owner)
    carry_all()
    assert standing(agent).word == "done"


@pytest.mark.case("leaf-Q02")
def test_a_run_whose_workers_keep_dying_is_given_up_without_the_agent(owner: User) -> None:
    agent, brain = thinking(owner, [submit()], item=UNGATED, max_attempts=2)
    Run.objects.filter(session=session_of(agent)).update(epoch=2)

    carry_all()

    assert brain.calls == 0
    assert (standing(agent).word, standing(agent).reason) == ("failed", "error")


@pytest.mark.case("leaf-X13")
def test_wrong_settings_are_given_up_at_once(owner: User) -> None:
    agent, _ = thinking(owner, [submit()], item=UNGATED)
    Agent.objects.filter(pk=agent.pk).update(settings={"model": "nobody:nothing"})

    carry_all()

    assert session_of(agent).status == Status.FAILING
    assert "nobody:nothing" in standing(agent).message


@pytest.mark.case("leaf-R05", "leaf-R08")
def test_a_recorded_verdict_stands_without_the_agent(owner: User) -> None:
    agent, brain = thinking(owner, [submit()], [submit("CLEAR")], item=UNGATED)
    carry_all()

    messages.post_message(session_id=session_of(agent).pk, by=owner, text="Again, please.")
    carry_all()

    assert brain.calls == 1
    assert standing(agent).verdict is not None
    assert standing(agent).verdict["verdict"] == "FLAGGED"  # type: ignore[index]


@pytest.mark.case("leaf-R06", "leaf-R07", "leaf-R08")
def test_nothing_else_is_taken_for_a_verdict(owner: User) -> None:
    agent, _ = thinking(owner, [say("FLAGGED: the verdict is FLAGGED"), ask_approval()])
    carry_all()

    assert standing(agent).verdict is None
    assert standing(agent).word == "paused"


@pytest.mark.case("leaf-X6")
def test_what_is_read_is_what_is_bound(owner: User) -> None:
    agent, _ = thinking(owner, [ask_approval("I looked.", "Flag it.")])
    carry_all()
    (gate,) = state.read_log(session_of(agent).pk).gates

    assert gate.ask.prompt == gate.params["summary"] == "I looked."
    assert gate.params["proposed_action"] == "Flag it."
    assert (gate.params["item"], gate.params["file"]) == ("i1", "a.py")
    assert gate.action_hash.startswith("v1:")


def test_the_sequence_is_readable_in_the_thread(owner: User) -> None:
    agent, _ = thinking(owner, [ask_approval("one")], [ask_approval("two")], [submit()])
    carry_all()
    decide(agent, owner, "reject", "check the callers")
    carry_all()
    decide(agent, owner, "approve")
    carry_all()

    story = [kind for kind in kinds(session_of(agent)) if kind in ("asked", "verdict", "summary")]
    assert story == ["asked", "verdict", "asked", "verdict", "summary"]
    last = Event.objects.filter(session=session_of(agent), kind="summary").get()
    assert last.text.startswith("**FLAGGED** for i1.")


@pytest.mark.case("leaf-X1")
def test_a_turn_that_lost_its_claim_changes_nothing(owner: User) -> None:
    agent, _ = thinking(owner, [submit("CLEAR")], [submit("FLAGGED")], item=UNGATED)
    first = claimed()
    assert first is not None
    late = play(first)[-1]
    Run.objects.filter(pk=first.run_id).update(lease_until=datetime(2020, 1, 1, tzinfo=UTC))
    second = claimed(Run.objects.get(pk=first.run_id))
    assert second is not None
    from agents.settlement import settle_run

    assert settle_run(second.fence, play(second)[-1])  # type: ignore[arg-type]
    assert not settle_run(first.fence, late)  # type: ignore[arg-type]

    assert standing(agent).verdict is not None
    assert standing(agent).verdict["verdict"] == "FLAGGED"  # type: ignore[index]
