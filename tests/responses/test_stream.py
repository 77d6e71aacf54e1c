"""The stored stream: its order, its numbers, and that it goes on where another worker left it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.utils import timezone

from agents import claims, controls, settlement
from agents.events.log import NewEvent
from agents.lifecycle import RunStatus, SessionState
from agents.models import Run
from agents.running.runtime import Ended
from tests.responses.world import (
    REQUEST,
    Caller,
    Refused,
    ask_of,
    asked,
    body,
    brain,
    carry_all,
    claimed,
    events,
    hybrid_agent,
    key_for,
    play,
    question,
    result,
    row,
    steps,
    words,
)
from workspace.protocols.responses.models import Response, ResponseEvent
from workspace.protocols.responses.server import service, stream

pytestmark = pytest.mark.django_db

TERMINAL = ("response.completed", "response.failed")


def kinds(response: dict[str, Any]) -> list[str]:
    return [event["type"] for event in events(response)]


def check_whole(response: dict[str, Any]) -> None:
    """What every reader of a stream relies on."""
    told = events(response)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told[0]["type"] == "response.created"
    assert [event["type"] in TERMINAL for event in told] == [False] * (len(told) - 1) + [True]
    added = [e for e in told if e["type"] == "response.output_item.added"]
    done = [e for e in told if e["type"] == "response.output_item.done"]
    assert [e["output_index"] for e in added] == list(range(len(added)))
    assert [e["item"]["id"] for e in added] == [e["item"]["id"] for e in done]
    assert [e["item"] for e in done] == told[-1]["response"]["output"] == response["output"]
    for item in response["output"]:
        if item["type"] == "message":
            deltas = [
                e["delta"]
                for e in told
                if e["type"] == "response.output_text.delta" and e["item_id"] == item["id"]
            ]
            assert "".join(deltas) == item["content"][0]["text"]


@pytest.mark.case("responses-S16")
def test_a_stream_is_in_the_protocols_order(caller: Caller) -> None:
    found = caller.ask("plain")

    check_whole(found)
    call = [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]
    message = [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    head = ["response.created", "response.in_progress"]
    assert kinds(found) == [*head, *call, *call, *message, "response.completed"]


@pytest.mark.case("responses-S50")
def test_a_background_response_is_queued_first_and_polled(caller: Caller) -> None:
    made = caller.send(
        input=json.dumps(REQUEST | {"scenario": "ask"}), background=True, metadata={"a": "b"}
    )
    assert made["status"] == "queued"
    assert kinds(made) == ["response.created", "response.queued"]

    carry_all()

    paused = body(made["id"])
    assert paused["metadata"] == {
        "a": "b",
        "envelope_status": "awaiting_human",
        "hitl_paused": "true",
    }
    assert asked(paused)
    assert "Reconciled EU" in words(caller.answer(paused, "EU", background=True))
    check_whole(paused)


def test_words_and_steps_take_turns(owner: User, tmp_path: Path) -> None:
    script = """
    for n in range(3):
        print("before", n, flush=True)
        print(json.dumps({"type": "step", "name": "load it", "arguments": {"n": n}}), flush=True)
    print("after")
    """
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))

    found = caller.create(REQUEST)

    check_whole(found)
    assert [item["type"] for item in found["output"]] == ["message", "function_call"] * 3 + [
        "message"
    ]
    assert steps(found) == ["load_it"] * 3


def test_steps_as_messages_for_programs_that_run_calls_themselves(
    agent: Any, caller: Caller
) -> None:
    paused = caller.create(
        path="/v1/responses?steps=commentary", input=json.dumps(REQUEST | {"scenario": "ask"})
    )

    check_whole(paused)
    phases = [item.get("phase") for item in paused["output"]]
    assert phases == ["commentary", "commentary", None]
    assert asked(paused)
    done = caller.answer(paused, "EU")
    assert [item["type"] for item in done["output"]] == ["message"] * 3


def test_a_worker_that_takes_over_goes_on_with_the_stream(owner: User, tmp_path: Path) -> None:
    """The first worker dies in the middle of a sentence; the same response has both of its tellings."""
    script = 'print(json.dumps({"type": "text", "text": "half a sentence"}), flush=True)'
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))
    made = caller.send(input=json.dumps(REQUEST))
    turn = claimed()
    assert turn is not None
    play(turn)
    assert row(made).open_seq is not None
    Run.objects.update(lease_until=timezone.now())

    again = claims.claim_run(run_id=turn.run_id, worker="another")
    assert again is not None
    assert not claims.append_events(
        turn.fence, [NewEvent("output", "agent:closer", "from the dead")]
    )
    ended = play(again)[-1]
    assert isinstance(ended, Ended)
    assert settlement.settle_run(again.fence, ended)

    found = body(made["id"])
    check_whole(found)
    assert kinds(found).count("response.in_progress") == 1
    assert words(found) == "half a sentence" * 2


def test_a_worker_that_gives_back_leaves_the_response_under_way(caller: Caller) -> None:
    made = caller.send(input="hello")
    turn = claimed()
    assert turn is not None
    play(turn)

    claims.return_run(turn.fence)
    assert body(made["id"])["status"] == "in_progress"
    carry_all()

    assert body(made["id"])["status"] == "completed"
    check_whole(body(made["id"]))


def test_cancelling_ends_the_stream_and_the_run(caller: Caller) -> None:
    made = caller.send(input="hello", background=True)
    turn = claimed()
    assert turn is not None
    play(turn)

    cancelled = caller.call(service.cancel_response, made["id"])

    assert cancelled["status"] == "cancelled"
    assert caller.call(service.cancel_response, made["id"]) == cancelled
    last = events(cancelled)[-1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "cancelled")
    assert not claims.append_events(turn.fence, [NewEvent("output", "agent:closer", "too late")])
    assert Run.objects.get(pk=turn.run_id).status == RunStatus.CANCELLED
    assert carry_all() == []
    assert row(cancelled).session.state == SessionState.ACTIVE


def test_cancelling_before_a_worker_comes_starts_nothing(caller: Caller) -> None:
    made = caller.send(input="hello", background=True)

    caller.call(service.cancel_response, made["id"])

    assert carry_all() == []
    assert body(made["id"])["output"] == []


def test_cancelling_a_turn_with_an_answer_never_loses_the_answer(
    caller: Caller, owner: User
) -> None:
    paused = caller.ask()
    child = caller.send(
        previous_response_id=paused["id"],
        input=[result(asked(paused)["call_id"], "EU")],
        background=True,
    )

    caller.call(service.cancel_response, child["id"])
    assert carry_all() == []
    assert row(child).session.state == SessionState.PAUSED
    controls.resume_session(session_id=row(child).session_id, by=owner)
    carry_all()

    again = Response.objects.order_by("pk").last()
    assert again is not None
    assert "Reconciled EU" in words(body(again.public_id))
    assert body(child["id"])["status"] == "cancelled"


def test_only_a_background_response_under_way_is_cancelled(caller: Caller) -> None:
    for made in (caller.send(input="hello"), caller.create("hello", background=True)):
        with pytest.raises(Refused) as no:
            caller.call(service.cancel_response, made["id"])
        assert (no.value.status, no.value.param) == (400, "response_id")


def test_a_run_stopped_on_the_page_goes_on_with_the_same_response(
    caller: Caller, owner: User
) -> None:
    made = caller.send(input="hello")
    turn = claimed()
    assert turn is not None
    play(turn)

    controls.stop_session(session_id=turn.session_id, by=owner)
    assert body(made["id"])["status"] == "in_progress"
    controls.resume_session(session_id=turn.session_id, by=owner)
    carry_all()

    assert body(made["id"])["status"] == "completed"
    assert Response.objects.count() == 1


@pytest.mark.case("responses-S51")
def test_a_reader_gets_the_rest_from_any_event_on(caller: Caller) -> None:
    found = caller.ask()
    response, whole = row(found), ResponseEvent.objects.order_by("seq")
    frames = [f"event: {e.type}\ndata: {e.data}\n\n" for e in whole]

    for after in range(-1, len(frames)):
        read = stream._read(response.pk, after)
        assert read.frames.decode() == "".join(frames[after + 1 :])
        assert read.is_over


def test_every_frame_is_ascii_on_two_lines(owner: User, tmp_path: Path) -> None:
    script = r"""
    text = "line\u2028end \x85 \r\n «é» \U0001f600"
    print(json.dumps({"type": "text", "text": text}))
    """
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))

    found = caller.create(REQUEST)

    assert words(found) == "line\u2028end \x85 \r\n «é» \U0001f600"
    frames = stream._read(row(found).pk, -1).frames
    assert frames.isascii()
    assert all(len(frame.split(b"\n")) == 2 for frame in frames.split(b"\n\n")[:-1])


def test_stored_events_are_never_rewritten(caller: Caller) -> None:
    found = caller.ask()

    with pytest.raises(DatabaseError, match="Cannot update"), transaction.atomic():
        row(found).events.update(data="{}")


def test_a_question_that_could_not_be_asked_fails_the_response(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core turns down a draft that the shell let through: that is never a green run."""
    from asks import raising

    def turn_down(*_: object) -> None:
        raise raising.BadDraft("no")

    monkeypatch.setattr(raising, "raise_ask", turn_down)

    found = caller.ask()

    assert found["status"] == "failed"
    assert found["envelope"]["status"] == "failed"


def test_usage_is_the_protocols(caller: Caller) -> None:
    usage = caller.create("hello")["usage"]

    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert set(usage["input_tokens_details"]) == {"cached_tokens", "cache_write_tokens"}


def test_a_deleted_response_is_gone_and_its_thread_is_kept(caller: Caller) -> None:
    found = caller.ask()
    session = ask_of(found).session

    caller.call(service.delete_response, found["id"])

    with pytest.raises(Refused) as no:
        caller.call(service.retrieve_response, found["id"])
    assert no.value.status == 404
    assert not ResponseEvent.objects.exists()
    assert session.events.filter(kind="asked").exists()


def test_a_question_is_not_asked_twice_by_a_run_begun_twice(owner: User, tmp_path: Path) -> None:
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, question())), owner))
    made = caller.send(input=json.dumps(REQUEST))
    turn = claimed()
    assert turn is not None
    play(turn)
    claims.return_run(turn.fence)

    carry_all()

    paused = body(made["id"])
    assert asked(paused)
    assert row(paused).session.asks.count() == 1
