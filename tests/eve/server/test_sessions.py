"""Sessions: opened, gone on with, and called off, cleared and ended by their callers."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from agents import claims, controls, messages, settlement
from agents.lifecycle import Outcome, RunStatus, SessionState
from agents.models import Agent, Event, Run
from agents.running.runtime import Ended
from asks import retirement, withdrawing
from asks.lifecycle import AskStatus
from asks.models import Verdict
from tests.eve.server.world import (
    REFUND,
    Caller,
    carry_all,
    of,
    outcomes,
    refused,
    results,
    types,
)
from tests.responses.world import claimed
from workspace.protocols.eve.errors import EveProblem
from workspace.protocols.eve.models import EveSession
from workspace.protocols.eve.server import service

pytestmark = pytest.mark.django_db

PLAIN = [
    "session.started",
    "turn.started",
    "message.received",
    "step.started",
    "message.completed",
    "step.completed",
    "turn.completed",
    "session.waiting",
]


def test_a_plain_turn_and_the_next(caller: Caller) -> None:
    talk = caller.open("hello")
    assert talk.types() == PLAIN

    told = talk.say("second")
    assert types(told) == PLAIN[1:]
    assert (told[0]["data"]["turnId"], told[0]["data"]["sequence"]) == ("turn_1", 1)


def test_words_come_in_pieces_and_whole_for_either_era(caller: Caller) -> None:
    pieces = of(caller.open("hello").events(), "message.appended")
    whole = ""
    for piece in pieces:
        whole += piece["messageDelta"]
        assert piece["messageSoFar"] == whole
    assert whole == "echo: hello"


def test_a_session_may_wait_for_its_first_message(caller: Caller) -> None:
    talk = caller.open()
    assert talk.events() == []

    told = talk.say("hello")
    assert types(told) == PLAIN
    assert of(told, "turn.started")[0]["turnId"] == "turn_0"


def test_the_same_operation_opens_one_session(caller: Caller) -> None:
    first = caller.call(service.create_session, message="hello", operationId="op-1")
    again = caller.call(service.create_session, message="hello", operationId="op-1")
    other = caller.call(service.create_session, message="hello", operationId="op-2")

    assert first == again
    assert other["sessionId"] != first["sessionId"]
    assert EveSession.objects.count() == 2
    with pytest.raises(EveProblem) as problem:
        caller.call(service.create_session, message="something else", operationId="op-1")
    assert refused(problem.value) == (409, "operation_conflict")


@pytest.mark.parametrize("token", ["eve:00000000-0000-4000-8000-000000000000", "x", "é"])
def test_a_wrong_continuation_token_is_refused(caller: Caller, token: str) -> None:
    """Elsewhere it silently starts another session."""
    talk = caller.open("hello")

    with pytest.raises(EveProblem) as problem:
        talk.send(message="more", continuationToken=token)

    assert refused(problem.value) == (409, "stale_continuation_token")
    assert talk.types() == PLAIN
    assert EveSession.objects.count() == 1


def test_the_right_token_is_taken_every_time(caller: Caller) -> None:
    talk = caller.open("hello")
    for _ in range(2):
        talk.send(message="more", continuationToken=talk.token)
    assert talk.types().count("turn.started") == 3


def test_what_is_sent_is_told_by_its_delivery(caller: Caller) -> None:
    talk = caller.open("hello")
    delivery = talk.send(message="more")["deliveryId"]
    stamped = [delivery in event["meta"].get("deliveryIds", []) for event in talk.events()]
    first = stamped.index(True)
    assert talk.events()[first]["type"] == "turn.started"
    assert all(stamped[first:])


def test_two_messages_before_a_turn_are_one_turn_of_both(caller: Caller) -> None:
    talk = caller.open("hello")
    one = caller.call(service.continue_session, talk.id, message="one")["deliveryId"]
    two = caller.call(service.continue_session, talk.id, message="two")["deliveryId"]
    carry_all()

    received = [event for event in talk.events() if event["type"] == "message.received"][-2:]
    assert [event["data"]["message"] for event in received] == ["one", "two"]
    assert received[0]["meta"]["deliveryIds"] == [one, two]


def test_a_message_during_a_turn_belongs_to_the_next(caller: Caller) -> None:
    talk = caller.open("hello")
    caller.call(service.continue_session, talk.id, message="one")
    turn = claimed()
    assert turn is not None
    later = caller.call(service.continue_session, talk.id, message="two")["deliveryId"]
    settlement.settle_run(turn.fence, Ended(outcome=Outcome.NO_WORK))
    carry_all()

    turns = [event for event in talk.events() if event["type"] == "message.received"]
    assert [(e["data"]["message"], e["data"]["turnId"]) for e in turns[1:]] == [
        ("one", "turn_1"),
        ("two", "turn_2"),
    ]
    assert turns[2]["meta"]["deliveryIds"] == [later]


def test_what_a_client_says_beside_a_message_reaches_the_agent_alone(caller: Caller) -> None:
    talk = caller.open("hello", clientContext={"page": "/invoices"})

    [words] = of(talk.events(), "message.received")
    assert words["message"] == "hello"
    assert "/invoices" in of(talk.events(), "message.completed")[0]["message"]


def test_a_turn_that_failed_says_so_and_waits(caller: Caller) -> None:
    talk = caller.open("hello")
    caller.call(service.continue_session, talk.id, message="more")
    turn = claimed()
    assert turn is not None
    settlement.settle_run(turn.fence, Ended(outcome=Outcome.RETRYABLE_ERROR, error="It broke."))

    assert talk.types()[-2:] == ["turn.failed", "session.waiting"]
    assert of(talk.events(), "turn.failed")[0]["message"] == "It broke."


# -- cancel ----------------------------------------------------------------------------------------


def test_cancelling_what_rests_changes_nothing(caller: Caller) -> None:
    talk = caller.open("hello")
    assert talk.control(service.cancel_turn)["status"] == "accepted"
    assert talk.types() == PLAIN


def test_cancelling_a_park_withdraws_and_runs_nothing(caller: Caller) -> None:
    talk = caller.open(REFUND)
    before = len(talk.events())
    talk.control(service.cancel_turn)

    told = talk.events()[before:]
    assert types(told) == ["input.resolved", "session.waiting"]
    assert outcomes(told) == ["cancelled"]
    assert (talk.asks()[0].status, talk.row.open_asks) == (AskStatus.WITHDRAWN, 0)
    assert not Run.objects.filter(status=RunStatus.QUEUED).exists()

    told = talk.say("hello")
    assert results(told) == []
    assert "echo: hello" in of(told, "message.completed")[-1]["message"]


def test_cancelling_a_turn_under_way_calls_its_message_off(caller: Caller) -> None:
    talk = caller.open("hello")
    delivery = caller.call(service.continue_session, talk.id, message="long work")["deliveryId"]
    turn = claimed()
    assert turn is not None
    talk.control(service.cancel_turn)

    assert talk.types()[-2:] == ["turn.cancelled", "session.waiting"]
    assert talk.events()[-1]["meta"]["deliveryIds"] == [delivery]
    assert not settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE))
    told = talk.say("short")
    assert [one["message"] for one in of(told, "message.received")] == ["short"]
    assert "long work" not in of(told, "message.completed")[-1]["message"]


def test_cancelling_before_a_turn_began_tells_whoever_waits_for_it(caller: Caller) -> None:
    talk = caller.open("hello")
    delivery = caller.call(service.continue_session, talk.id, message="more")["deliveryId"]
    talk.control(service.cancel_turn)

    assert talk.types() == [*PLAIN, "session.waiting"]
    assert talk.events()[-1]["meta"]["deliveryIds"] == [delivery]


def test_another_turn_than_the_one_under_way_is_not_cancelled(caller: Caller) -> None:
    talk = caller.open(REFUND)
    assert talk.control(service.cancel_turn, turnId="turn_7")["status"] == "accepted"
    assert talk.open_requests()
    talk.control(service.cancel_turn, turnId="turn_0")
    assert not talk.open_requests()


def test_a_turn_with_an_approval_is_not_called_off_by_its_caller(caller: Caller) -> None:
    talk = caller.open(REFUND)
    answer = {"requestId": talk.open_requests()[0]["requestId"], "optionId": "approve"}
    caller.call(service.continue_session, talk.id, inputResponses=[answer])

    with pytest.raises(EveProblem) as problem:
        talk.control(service.cancel_turn)

    assert refused(problem.value) == (409, "approved_turn")
    carry_all()
    assert results(talk.events()) == ["completed"]


# -- clear and reset -------------------------------------------------------------------------------


def test_clearing_forgets_what_was_said_and_withdraws_what_is_open(caller: Caller) -> None:
    talk = caller.open(REFUND)
    before = len(talk.events())
    assert talk.control(service.clear_session)["status"] == "accepted"

    told = talk.events()[before:]
    assert types(told) == ["input.resolved", "context.cleared", "session.waiting"]
    assert of(told, "context.cleared")[0]["sessionId"] == talk.id
    assert outcomes(told) == ["cancelled"]
    assert types(talk.say("hello")) == PLAIN[1:]


def test_a_turn_under_way_is_not_cleared(caller: Caller) -> None:
    talk = caller.open("hello")
    caller.call(service.continue_session, talk.id, message="more")

    with pytest.raises(EveProblem) as problem:
        talk.control(service.clear_session)

    assert refused(problem.value) == (409, "turn_active")


def test_a_reset_ends_the_session_for_good(caller: Caller) -> None:
    talk = caller.open(REFUND)
    before = len(talk.events())
    said = talk.control(service.reset_session, reason="done")
    assert said == {"ok": True, "previousSessionId": talk.id, "status": "reset"}

    told = talk.events()[before:]
    assert types(told) == ["input.resolved", "session.completed"]
    assert (talk.row.state, talk.row.open_asks) == (SessionState.ENDED, 0)
    for body in ({"message": "x"}, {"inputResponses": [{"requestId": "x"}]}):
        with pytest.raises(EveProblem) as problem:
            talk.send(**body)
        assert refused(problem.value) == (409, "session_not_active")
    assert talk.control(service.cancel_turn) == {"ok": True, "status": "no_active_turn"}
    assert talk.control(service.clear_session) == {"ok": True, "status": "no_active_session"}
    assert talk.control(service.reset_session) == {"ok": True, "status": "no_active_session"}


def test_a_reset_during_a_turn_cancels_it(caller: Caller) -> None:
    talk = caller.open("hello")
    caller.call(service.continue_session, talk.id, message="more")
    turn = claimed()
    assert turn is not None
    talk.control(service.reset_session)

    assert talk.types()[-2:] == ["turn.cancelled", "session.completed"]
    assert not settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE))


# -- what happens on the pages ---------------------------------------------------------------------


def test_an_answer_on_the_page_is_told_on_the_wire(caller: Caller, owner: User) -> None:
    from tests.factories import verdict_on

    talk = caller.open(REFUND)
    before = len(talk.events())
    verdict_on(talk.asks()[0], owner, option="approve")
    carry_all()

    told = talk.events()[before:]
    assert outcomes(told) == ["approved"]
    assert results(told) == ["completed"]
    assert Verdict.objects.get().via == "page"


def test_a_message_on_the_page_passes_over_what_is_open(caller: Caller, owner: User) -> None:
    talk = caller.open(REFUND)
    messages.post_message(session_id=talk.row.pk, by=owner, text="never mind")
    carry_all()

    told = talk.events()
    assert outcomes(told) == ["ignored"]
    assert of(told, "message.received")[-1]["message"] == "never mind"


def test_a_withdrawal_on_the_page_is_told_as_cancelled(caller: Caller, owner: User) -> None:
    talk = caller.open(REFUND)
    withdrawing.withdraw_ask(ask_id=talk.asks()[0].pk, by=owner)
    carry_all()

    assert outcomes(talk.events()) == ["cancelled"]
    assert "completed" not in results(talk.events())


def test_a_run_stopped_on_the_page_is_a_cancelled_turn(caller: Caller, owner: User) -> None:
    talk = caller.open("hello")
    caller.call(service.continue_session, talk.id, message="more")
    turn = claimed()
    assert turn is not None
    controls.stop_session(session_id=talk.row.pk, by=owner)

    assert talk.types()[-2:] == ["turn.cancelled", "session.waiting"]


def test_a_retired_agent_ends_its_sessions(caller: Caller, owner: User, agent: Agent) -> None:
    talk = caller.open(REFUND)
    retirement.retire_agent(agent_id=agent.pk, by=owner)

    assert talk.types()[-1] == "session.completed"
    with pytest.raises(EveProblem) as problem:
        caller.call(service.create_session, message="hello")
    assert refused(problem.value) == (403, "forbidden")


def test_another_worker_begins_a_turn_again_as_the_same_turn(caller: Caller) -> None:
    talk = caller.open("hello")
    caller.call(service.continue_session, talk.id, message="more")
    turn = claimed()
    assert turn is not None
    claims.return_run(turn.fence)
    carry_all()

    assert types(talk.events()[-6:]).count("turn.started") == 0
    assert talk.types().count("turn.started") == 2
    assert of(talk.events(), "turn.completed")[-1]["turnId"] == "turn_1"


def test_what_was_told_stays_whatever_is_renamed(caller: Caller, owner: User, agent: Agent) -> None:
    talk = caller.open(REFUND)
    talk.choose("approve")
    before = talk.events()

    owner.username = "oleg"
    owner.save()
    Agent.objects.filter(pk=agent.pk).update(name="Another name")

    assert talk.events() == before


def test_nothing_of_a_parked_session_is_kept_but_rows(caller: Caller) -> None:
    talk = caller.open(REFUND)
    kept = json.dumps(talk.row.data)
    assert len(kept) < 2000
    assert Event.objects.filter(session=talk.row, kind="noted").exists()
