"""What is stored, what runs in the background, and what is refused."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import openai
from openai import OpenAI

from tests.conformance.responses.client import (
    ITEM,
    MODEL,
    OPTIONS,
    answer,
    answering,
    ask,
    asking,
    check,
    client,
    envelope,
    question,
    raw_stream,
    refused,
    replay,
    strict_stream,
    wait_for,
)


def create(**body: Any) -> Any:
    return client.responses.create(model=MODEL, **body)


@check
def background_poll_then_resume() -> None:
    made = client.responses.create(background=True, **ask())
    assert made.status in ("queued", "in_progress")
    assert made.background is True
    paused = wait_for(made.id)
    assert paused.status == "completed"
    assert envelope(paused)["status"] == paused.metadata["envelope_status"] == "awaiting_human"
    done = wait_for(answering(paused, "EU", background=True).id)
    assert "Reconciled EU" in done.output_text
    assert envelope(done)["status"] == "ok"


@check
def background_stream_drop_and_reattach() -> None:
    seen: list[int] = []
    stream = client.responses.create(background=True, stream=True, **ask())
    for event in stream:
        seen.append(event.sequence_number)
        if event.type == "response.created":
            name = event.response.id
        if len(seen) == 5:
            stream.close()
            break
    rest = list(client.responses.retrieve(name, stream=True, starting_after=seen[-1]))
    got = seen + [event.sequence_number for event in rest]
    assert got == list(range(len(got))), got
    assert rest[-1].type == "response.completed"
    question(rest[-1].response)
    with client.responses.stream(response_id=name, starting_after=seen[-1]) as helped:
        again = [event.sequence_number for event in helped]
    assert again == [number for number in got if number > seen[-1]]


@check
def replay_of_a_finished_stream_is_identical() -> None:
    live = raw_stream(background=True, **ask())
    name, last = live[0][1]["response"]["id"], live[-1][1]["sequence_number"]
    assert replay(name) == live
    assert replay(name, starting_after=last) == []


@check
def cancel_background_is_idempotent() -> None:
    made = client.responses.create(background=True, **ask("slow"))
    assert client.responses.cancel(made.id).status == "cancelled"
    assert client.responses.cancel(made.id).status == "cancelled"
    assert client.responses.retrieve(made.id).status == "cancelled"
    last = replay(made.id)[-1][1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "cancelled")


@check
def cancel_refusals() -> None:
    made = create(input="x")
    refused(openai.BadRequestError, lambda: client.responses.cancel(made.id))
    over = create(input="x", background=True)
    wait_for(over.id)
    refused(openai.BadRequestError, lambda: client.responses.cancel(over.id))


@check
def background_needs_store() -> None:
    refused(openai.BadRequestError, lambda: create(input="x", background=True, store=False))


@check
def input_items_paginate() -> None:
    made = create(input=[{"role": "user", "content": f"m{number}"} for number in range(5)])
    up = list(client.responses.input_items.list(made.id, limit=2, order="asc"))
    assert [item.content[0].text for item in up] == [f"m{number}" for number in range(5)]
    down = list(client.responses.input_items.list(made.id))
    assert [item.id for item in down] == [item.id for item in up][::-1]
    raw = client.responses.input_items.with_raw_response.list(made.id, limit=2).http_response.json()
    assert raw["object"] == "list"
    assert raw["has_more"] is True
    assert raw["last_id"] == raw["data"][-1]["id"]
    for item in raw["data"]:
        ITEM.validate_python(item)


@check
def answer_is_kept_as_an_input_item() -> None:
    paused = asking()
    (item,) = list(client.responses.input_items.list(answering(paused, "EU").id))
    assert item.type == "function_call_output"
    assert (item.call_id, item.output) == (question(paused)[0].call_id, "EU")
    assert item.id


@check
def delete_then_gone() -> None:
    made = create(input="x")
    assert client.responses.delete(made.id) is None
    refused(openai.NotFoundError, lambda: client.responses.retrieve(made.id))
    refused(openai.NotFoundError, lambda: client.responses.delete(made.id))
    refused(
        openai.BadRequestError,
        lambda: create(input="y", previous_response_id=made.id),
        code="previous_response_not_found",
        param="previous_response_id",
    )


@check
def errors_map_to_sdk_classes() -> None:
    refused(openai.NotFoundError, lambda: client.responses.retrieve("resp_nope"))
    refused(
        openai.BadRequestError,
        lambda: create(input="y", previous_response_id="resp_nope"),
        code="previous_response_not_found",
    )
    wrong: Any = OpenAI(base_url=OPTIONS.base_url, api_key="wrong", timeout=30)
    refused(
        openai.AuthenticationError,
        lambda: wrong.responses.create(model=MODEL, input="x"),
        code="invalid_api_key",
    )
    refused(openai.BadRequestError, create, param="input")
    long = {"k": "v" * 513}
    refused(openai.BadRequestError, lambda: create(input="x", metadata=long), param="metadata")


@check
def unrelated_result_alone_is_not_a_resume() -> None:
    paused = asking()
    stray = answer("ledger-choice.000000000000", "EU")
    refused(
        openai.BadRequestError,
        lambda: create(previous_response_id=paused.id, input=stray),
        param="input",
    )
    assert "Reconciled EU" in answering(paused, "EU").output_text


@check
def unrelated_result_before_a_message_is_no_answer() -> None:
    paused = asking()
    items = [*answer("load_ledger", "EU"), {"role": "user", "content": "unrelated chat"}]
    other = create(previous_response_id=paused.id, input=items)
    assert "Reconciled" not in other.output_text
    assert envelope(other)["output"]["hitl_paused"] is False
    assert "Reconciled US" in answering(paused, "US").output_text


@check
def answer_without_previous_response_is_not_a_resume() -> None:
    call_id = question(asking())[0].call_id
    refused(openai.BadRequestError, lambda: create(input=answer(call_id, "EU")))


@check
def replayed_transcript_never_reruns_the_job() -> None:
    """Some clients send the whole history again instead of previous_response_id."""
    paused = asking()
    item, _ = question(paused)
    call = {
        "type": "function_call",
        "call_id": item.call_id,
        "name": item.name,
        "arguments": item.arguments,
    }
    replayed = [
        {"role": "user", "content": ask()["input"]},
        call,
        *answer(item.call_id, "EU"),
    ]
    refused(
        openai.BadRequestError,
        lambda: create(input=replayed),
        code="previous_response_id_required",
        param="previous_response_id",
    )
    assert "Reconciled EU" in answering(paused, "EU").output_text


@check
def answering_twice_is_refused_once_and_never_retried() -> None:
    paused = asking()
    answering(paused, "EU")
    begun = time.monotonic()
    error = refused(openai.ConflictError, lambda: answering(paused, "US"), code="already_answered")
    assert error.response.headers.get("x-should-retry") == "false"
    assert time.monotonic() - begun < 0.4, "the library backed off and tried again"


@check
def identical_answer_again_is_the_same_run() -> None:
    """The library sends a POST whose reply was lost again: the answer itself is the key."""
    paused = asking()
    one, other = answering(paused, "EU"), answering(paused, "EU")
    assert one.id == other.id
    items = answer(question(paused)[0].call_id, "EU")
    stream = raw_stream(model=MODEL, previous_response_id=paused.id, input=items)
    assert strict_stream(stream)["id"] == one.id


@check
def two_people_answer_at_once() -> None:
    paused = asking()
    items = {word: answer(question(paused)[0].call_id, word) for word in ("EU", "US")}
    eager = client.with_options(max_retries=0).responses
    got: list[tuple[str, str]] = []
    together = threading.Barrier(4)

    def send(word: str) -> None:
        together.wait()
        try:
            made = eager.create(model=MODEL, previous_response_id=paused.id, input=items[word])
            got.append((made.id, word))
        except openai.ConflictError as error:
            got.append((str(error.code), word))

    threads = [threading.Thread(target=send, args=(word,)) for word in ("EU", "US") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = {pair for pair in got if pair[0] != "already_answered"}
    assert len(got) == 4
    assert len(won) == 1
    assert sum(code == "already_answered" for code, _ in got) == 2, got


@check
def empty_and_unknown_answers_are_refused() -> None:
    paused = asking()
    for word, code in (("   ", "empty_answer"), ("UK", "unknown_option"), ("eu", "unknown_option")):
        refused(openai.BadRequestError, lambda word=word: answering(paused, word), code=code)  # type: ignore[misc]
    assert "Reconciled EU" in answering(paused, "EU").output_text


@check
def question_file_fails_closed() -> None:
    for scenario in (
        *("malformed", "not_object", "no_question", "unreadable"),
        *("symlink", "fifo", "dir_gone", "bad_options"),
    ):
        failed = asking(scenario)
        assert failed.status == "failed", scenario
        assert failed.error.code == "server_error"
        assert "hitl_request.json" in failed.error.message, scenario
        assert envelope(failed)["status"] == "failed"
        names = [getattr(item, "name", "") for item in failed.output]
        assert "request_info" not in names, scenario


@check
def failed_stream_ends_with_response_failed() -> None:
    failed = strict_stream(raw_stream(**ask("malformed")), "response.failed")
    assert failed["status"] == "failed"
    assert json.dumps(failed["error"]["message"])
    with client.responses.stream(**ask("malformed")) as stream:
        assert [event.type for event in stream][-1] == "response.failed"
        try:
            stream.get_final_response()
        except RuntimeError:
            return
    raise AssertionError("the helper gave a final response for a failed run")
