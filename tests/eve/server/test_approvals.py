"""What becomes of an approval on the wire, whatever is sent for it; §3 of the protocol's own table.

Where eve itself takes what is wrong and says so on the stream, we refuse it and leave it open.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from asks.lifecycle import AskStatus, Reason
from asks.models import Grant, Verdict
from tests.eve.server.world import (
    REFUND,
    TWO_REFUNDS,
    Caller,
    key_for,
    of,
    outcomes,
    refused,
    results,
    types,
)
from tests.eve.server.world import last_refusal as last
from workspace.protocols.eve.errors import EveProblem
from workspace.protocols.eve.server import service

pytestmark = pytest.mark.django_db


def test_a_gated_call_parks(caller: Caller) -> None:
    talk = caller.open(REFUND)

    assert talk.types() == [
        "session.started",
        "turn.started",
        "message.received",
        "step.started",
        "message.completed",
        "step.completed",
        "input.requested",
        "turn.completed",
        "session.waiting",
    ]
    [request] = talk.open_requests()
    assert request == {
        "requestId": request["requestId"],
        "kind": "tool-approval",
        "prompt": "Approve tool call: refund",
        "action": {
            "kind": "tool-call",
            "callId": request["action"]["callId"],
            "toolName": "refund",
            "input": {"chargeId": "ch_1", "amount": 12.5},
        },
        "options": [
            {"id": "approve", "label": "Yes", "style": "primary"},
            {"id": "deny", "label": "No"},
        ],
        "display": "confirmation",
        "allowFreeform": False,
    }
    assert request["requestId"].startswith("aitxt-")
    assert of(talk.events(), "session.waiting")[-1]["continuationToken"] == talk.token


def test_an_approval_runs_the_call_once_in_the_next_turn(caller: Caller) -> None:
    talk = caller.open(REFUND)
    told = talk.choose("approve")

    assert types(told) == [
        "approval.settled",
        "input.resolved",
        "turn.started",
        "step.started",
        "action.result",
        "message.completed",
        "step.completed",
        "turn.completed",
        "session.waiting",
    ]
    assert outcomes(told) == ["approved"]
    [result] = of(told, "action.result")
    assert (result["status"], result["turnId"]) == ("completed", "turn_1")
    assert result["result"]["output"] == {"refunded": "ch_1", "amount": 12.5}
    assert of(told, "approval.settled")[0]["responderPrincipalId"] == "human:olga"
    assert Verdict.objects.get().via == "eve"


def test_a_denial_is_told_before_the_turn_that_goes_on(caller: Caller) -> None:
    told = caller.open(REFUND).choose("deny")

    assert types(told)[:4] == [
        "approval.settled",
        "input.resolved",
        "action.result",
        "turn.started",
    ]
    [result] = of(told, "action.result")
    assert (result["status"], result["turnId"]) == ("rejected", "turn_0")
    assert result["error"] == {
        "code": "TOOL_EXECUTION_DENIED",
        "message": "Tool execution was denied.",
    }
    assert outcomes(told) == ["denied"]
    assert not Grant.objects.exists()


def test_a_note_goes_with_a_denial_as_quoted_words(caller: Caller) -> None:
    told = caller.open(REFUND).choose("deny", 'Only the "three-pack".')

    output = of(told, "action.result")[0]["result"]["output"]
    assert output["message"] == (
        "Tool execution was denied. The person who denied it wrote: "
        r'"Only the \"three-pack\"."'
    )
    assert output["approval"]["status"] == "denied"


@pytest.mark.parametrize(
    ("response", "status", "code"),
    [
        ({"optionId": "maybe"}, 422, "unknown_option"),
        ({"optionId": "Approve"}, 422, "unknown_option"),
        ({"optionId": "cancel"}, 422, "unknown_option"),
        ({"text": "approve"}, 422, "empty_answer"),
        ({"text": " \u200b"}, 422, "empty_answer"),
        ({}, 422, "empty_answer"),
        ({"optionId": ""}, 422, "empty_answer"),
    ],
)
def test_what_is_no_answer_is_refused_and_leaves_it_open(
    caller: Caller, response: dict[str, str], status: int, code: str
) -> None:
    talk = caller.open(REFUND)
    before = talk.events()
    [request] = talk.open_requests()

    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": request["requestId"], **response})

    assert refused(problem.value) == (status, code)
    assert talk.events() == before
    assert talk.asks()[0].status == AskStatus.OPEN
    assert last().via == "eve"


def test_both_answers_for_one_request_are_none(caller: Caller) -> None:
    """Elsewhere the last one wins, so that a denial becomes an approval."""
    talk = caller.open(REFUND)
    name = talk.open_requests()[0]["requestId"]

    with pytest.raises(EveProblem) as problem:
        talk.answer(
            {"requestId": name, "optionId": "deny"}, {"requestId": name, "optionId": "approve"}
        )

    assert refused(problem.value) == (400, "duplicate_response")
    assert talk.open_requests()


def test_an_unknown_request_changes_nothing_and_is_on_record(caller: Caller) -> None:
    talk = caller.open(REFUND)

    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": "aitxt-nobody", "optionId": "approve"})

    assert refused(problem.value) == (404, "unknown_request")
    assert talk.open_requests()
    assert (last().reason, last().ask_ref) == (Reason.NOT_FOUND, "aitxt-nobody")


def test_another_sessions_request_is_not_answered_here(caller: Caller) -> None:
    here, there = caller.open(REFUND), caller.open(REFUND)

    with pytest.raises(EveProblem) as problem:
        here.answer({"requestId": there.open_requests()[0]["requestId"], "optionId": "approve"})

    assert refused(problem.value) == (404, "unknown_request")
    assert there.open_requests()


def test_the_same_answer_again_is_taken_and_runs_nothing(caller: Caller) -> None:
    talk = caller.open(REFUND)
    answer = {"requestId": talk.open_requests()[0]["requestId"], "optionId": "approve"}
    talk.answer(answer)

    told = talk.answer(answer)

    assert types(told) == ["session.waiting"]
    assert results(talk.events()) == ["completed"]


def test_another_answer_afterwards_is_refused(caller: Caller) -> None:
    talk = caller.open(REFUND)
    name = talk.open_requests()[0]["requestId"]
    talk.choose("approve")

    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": name, "optionId": "deny"})

    assert refused(problem.value) == (409, "already_answered")
    assert results(talk.events()) == ["completed"]


@pytest.mark.case("C57")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_decisions_go_by_request_and_not_by_their_order(
    caller: Caller, order: tuple[int, int]
) -> None:
    talk = caller.open(TWO_REFUNDS)
    first, second = talk.open_requests()
    answers = [
        {"requestId": first["requestId"], "optionId": "approve"},
        {"requestId": second["requestId"], "optionId": "deny"},
    ]

    told = talk.answer(*(answers[place] for place in order))

    statuses = {one["result"]["callId"]: one["status"] for one in of(told, "action.result")}
    assert statuses == {
        first["action"]["callId"]: "completed",
        second["action"]["callId"]: "rejected",
    }
    assert of(talk.events(), "session.waiting")[-1] == of(told, "session.waiting")[0]


@pytest.mark.case("C58")
def test_one_answer_of_two_leaves_the_session_parked(caller: Caller) -> None:
    talk = caller.open(TWO_REFUNDS)
    first, second = talk.open_requests()

    told = talk.answer({"requestId": first["requestId"], "optionId": "approve"})
    assert types(told) == ["approval.settled", "session.waiting"]
    assert talk.row.open_asks == 1

    told = talk.answer({"requestId": second["requestId"], "optionId": "approve"})
    assert outcomes(told) == ["approved", "approved"]
    assert results(told) == ["completed", "completed"]
    assert of(told, "turn.started")[0]["turnId"] == "turn_1"


@pytest.mark.case("C59")
def test_denying_one_of_three_lets_the_others_go_on(caller: Caller) -> None:
    talk = caller.open("; ".join([REFUND] * 3))
    first, second, third = talk.open_requests()

    told = talk.answer(
        {"requestId": first["requestId"], "optionId": "approve"},
        {"requestId": second["requestId"], "optionId": "deny"},
        {"requestId": third["requestId"], "optionId": "approve"},
    )

    assert outcomes(told) == ["approved", "denied", "approved"]
    assert sorted(results(told)) == ["completed", "completed", "rejected"]


def test_one_wrong_answer_of_two_decides_nothing(caller: Caller) -> None:
    talk = caller.open(TWO_REFUNDS)
    first, second = talk.open_requests()

    with pytest.raises(EveProblem) as problem:
        talk.answer(
            {"requestId": first["requestId"], "optionId": "approve"},
            {"requestId": second["requestId"], "optionId": "maybe"},
        )

    assert refused(problem.value) == (422, "unknown_option")
    assert not Verdict.objects.exists()
    assert len(talk.open_requests()) == 2


@pytest.mark.parametrize("typed", ["approve", "  aPPROVE ", "YES"])
def test_a_message_that_is_an_option_answers(caller: Caller, typed: str) -> None:
    talk = caller.open(REFUND)
    before = len(talk.events())
    delivery = talk.send(message=typed)["deliveryId"]
    told = talk.events()[before:]

    assert outcomes(told) == ["approved"]
    assert results(told) == ["completed"]
    assert of(told, "message.received")[0]["message"] == typed
    assert {tuple(event["meta"]["deliveryIds"]) for event in told} == {(delivery,)}


@pytest.mark.case("C06")
@pytest.mark.parametrize(
    "said", ["actually explain first", "approve.", "approve it", "1", "yes please", "ok"]
)
def test_other_words_never_approve_and_never_deny(caller: Caller, said: str) -> None:
    """They go past it: it is closed as ignored, which is said on the card, and the agent hears them."""
    talk = caller.open(REFUND)
    told = talk.say(said)

    assert outcomes(told) == ["ignored"]
    [result] = of(told, "action.result")
    words = "Ignored because the user continued without responding."
    assert (result["status"], result["error"]["message"]) == ("rejected", words)
    order = types(told)
    assert order.index("action.result") < order.index("message.received")
    [ask] = talk.asks()
    assert (ask.status, ask.closed_by) == (AskStatus.WITHDRAWN, None)
    assert "gnored" in ask.close_reason
    assert not Verdict.objects.exists()


@pytest.mark.case("C07")
def test_words_that_could_mean_two_things_decide_nothing(caller: Caller) -> None:
    talk = caller.open(TWO_REFUNDS)

    with pytest.raises(EveProblem) as problem:
        talk.say("approve")

    assert refused(problem.value) == (409, "ambiguous_answer")
    assert len(talk.open_requests()) == 2


def test_an_answer_that_comes_after_a_message_is_late(caller: Caller) -> None:
    talk = caller.open(REFUND)
    name = talk.open_requests()[0]["requestId"]
    talk.say("never mind")

    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": name, "optionId": "approve"})

    assert refused(problem.value) == (409, "already_answered")
    assert results(talk.events()) == ["rejected"]


def test_an_answer_after_a_cancel_is_late(caller: Caller) -> None:
    talk = caller.open(REFUND)
    name = talk.open_requests()[0]["requestId"]
    talk.control(service.cancel_turn)

    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": name, "optionId": "approve"})

    assert refused(problem.value) == (409, "already_answered")
    assert results(talk.events()) == []


@pytest.mark.parametrize(("again", "taken"), [("approve", True), ("deny", False)])
def test_an_old_answer_beside_a_new_one(caller: Caller, again: str, taken: bool) -> None:
    """The same as before goes with it; another one has the whole post refused."""
    talk = caller.open(TWO_REFUNDS)
    first, second = (one["requestId"] for one in talk.open_requests())
    talk.answer({"requestId": first, "optionId": "approve"})
    both = {"requestId": first, "optionId": again}, {"requestId": second, "optionId": "approve"}

    if taken:
        assert results(talk.answer(*both)) == ["completed", "completed"]
        return
    with pytest.raises(EveProblem) as problem:
        talk.answer(*both)
    assert refused(problem.value) == (409, "already_answered")
    assert [one["requestId"] for one in talk.open_requests()] == [first, second]
    assert talk.asks()[1].status == AskStatus.OPEN


def test_once_is_asked_once_and_only_an_approval_counts(caller: Caller) -> None:
    talk = caller.open('call once_tool {"n":1}')
    talk.choose("deny")
    talk.say('call once_tool {"n":2}')
    talk.choose("approve")
    told = talk.say('call once_tool {"n":3}')

    assert not talk.open_requests()
    assert results(told) == ["completed"]


def test_a_predicate_asks_above_its_threshold(caller: Caller) -> None:
    talk = caller.open('call pred_tool {"amount":10}')
    assert not talk.open_requests()
    assert results(talk.events()) == ["completed"]
    assert "actions.requested" in talk.types()

    talk.say('call pred_tool {"amount":2000}')
    assert len(talk.open_requests()) == 1


def test_a_colleague_who_owns_the_agent_answers_too(
    caller: Caller, colleague: User, agent: Agent
) -> None:
    talk = caller.open(REFUND)
    told = talk.by(Caller(key_for(agent, colleague, name="carls"))).choose("approve")

    assert of(told, "approval.settled")[0]["responderPrincipalId"] == "human:carl"
