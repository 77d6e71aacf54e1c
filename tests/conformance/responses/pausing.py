"""Plain responses, and responses that pause for a person and go on with the answer."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from openai.types.responses import Response

from tests.conformance.responses.client import (
    MODEL,
    REQUEST,
    REQUEST_ID,
    answer,
    answering,
    ask,
    asking,
    async_client,
    check,
    client,
    envelope,
    question,
    raw_stream,
    strict_response,
    strict_stream,
)


@check
def plain_nonstream() -> None:
    raw = client.responses.with_raw_response.create(model=MODEL, input="hello")
    strict_response(raw.http_response.json())
    found = raw.parse()
    assert found.status == "completed"
    assert "Nothing to decide" in found.output_text
    assert found.usage.total_tokens > 0
    assert envelope(found)["status"] == "ok"
    assert envelope(found)["output"]["hitl_paused"] is False


@check
def plain_item_list_input() -> None:
    items = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ]
    assert client.responses.create(model=MODEL, input=items).status == "completed"


@check
def plain_stream_wire() -> None:
    strict_stream(raw_stream(model=MODEL, input="hello"), "response.completed")


@check
def plain_stream_sdk_helper() -> None:
    with client.responses.stream(model=MODEL, input="hello") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert final.output_text


@check
def metadata_and_extra_fields_survive() -> None:
    made = client.responses.create(model=MODEL, input="x", metadata={"skill": "ledger"})
    found = client.responses.retrieve(made.id)
    assert found.metadata["skill"] == "ledger"
    assert found.model_dump() == made.model_dump()


@check
def ask_nonstream() -> None:
    raw = client.responses.with_raw_response.create(**ask())
    strict_response(raw.http_response.json())
    paused = raw.parse()
    assert paused.status == "completed", "a paused turn completes normally"
    item, arguments = question(paused)
    assert REQUEST_ID.fullmatch(item.call_id)
    assert item.call_id.startswith("ledger-choice.")
    event = {"type": "request_info", "data": {"question": "Which ledger: EU or US?"}}
    request = {**REQUEST, "scenario": "ask"}
    assert arguments == {
        "request_id": item.call_id,
        "request_event": event,
        "options": ["EU", "US"],
        "request": request,
        "resume_state": request,
    }
    assert paused.output[-1].id == item.id, "steps come before the question"
    calls = [one for one in paused.output if one.type == "function_call"]
    assert [one for one in calls if one.call_id == one.name], "the work so far is shown as steps"
    assert envelope(paused)["status"] == "awaiting_human"
    assert envelope(paused)["output"]["hitl_paused"] is True


@check
def ask_stream_and_resume_stream() -> None:
    paused = strict_stream(raw_stream(**ask()), "response.completed")
    call = next(item for item in paused["output"] if item.get("name") == "request_info")
    body: dict[str, Any] = {"model": MODEL, "previous_response_id": paused["id"]}
    done = strict_stream(
        raw_stream(**body, input=answer(call["call_id"], "EU")), "response.completed"
    )
    said = [item for item in done["output"] if item["type"] == "message"]
    text = "".join(part["text"] for item in said for part in item["content"])
    assert "Reconciled EU for 2026-10-16" in text, "the resumed turn must not run on defaults"
    assert done["previous_response_id"] == paused["id"] != done["id"]


@check
def resume_without_model_field() -> None:
    """The answer's body may carry no model at all."""
    paused = asking()
    body = {
        "previous_response_id": paused.id,
        "input": answer(question(paused)[0].call_id, "US"),
        "stream": False,
    }
    done = client.post("/responses", cast_to=Response, body=body)
    assert "Reconciled US" in done.output_text
    assert done.model


@check
def resume_sdk_helper_stream() -> None:
    with client.responses.stream(**ask()) as stream:
        paused = stream.get_final_response()
    call_id = question(paused)[0].call_id
    body = {"model": MODEL, "previous_response_id": paused.id, "input": answer(call_id, "EU")}
    with client.responses.stream(**body) as stream:
        assert "Reconciled EU" in stream.get_final_response().output_text


@check
def resume_output_as_content_parts() -> None:
    done = answering(asking(), [{"type": "input_text", "text": "EU"}])
    assert "Reconciled EU" in done.output_text


@check
def async_client_full_cycle() -> None:
    async def cycle() -> str:
        async with async_client.responses.stream(**ask()) as stream:
            async for _ in stream:
                pass
            paused = await stream.get_final_response()
        items = answer(question(paused)[0].call_id, "US")
        done = await async_client.responses.create(
            model=MODEL, previous_response_id=paused.id, input=items
        )
        return str(done.output_text)

    assert "Reconciled US" in asyncio.run(cycle())


@check
def two_gates_in_one_conversation() -> None:
    first = asking("ask_twice")
    second = answering(first, "EU")
    item, arguments = question(second)
    assert item.call_id != question(first)[0].call_id
    assert envelope(second)["status"] == "awaiting_human"
    assert arguments["resume_state"]["target_date"] == "2026-10-16"
    done = answering(second, "yes")
    assert envelope(done)["status"] == "ok"
    assert "Reconciled yes" in done.output_text


@check
def ids_differ_on_every_pause() -> None:
    one, other = (question(asking())[0].call_id for _ in range(2))
    assert one != other
    assert one.rsplit(".", 1)[0] == other.rsplit(".", 1)[0] == "ledger-choice"


@check
def malformed_stem_becomes_req() -> None:
    item, arguments = question(asking("bad_id"))
    assert re.fullmatch(r"req\.[0-9a-f]{12}", item.call_id)
    assert arguments["request_id"] == item.call_id


@check
def free_text_question_has_no_options() -> None:
    paused = asking("ask_free")
    assert "options" not in question(paused)[1]
    assert "the Swiss one" in answering(paused, "the Swiss one").output_text


@check
def mandatory_gate_not_opened_is_a_failure() -> None:
    failed = asking("plain", mandatory_gate=True)
    assert failed.status == "failed"
    assert envelope(failed)["output"]["hitl_paused"] is False
    paused = asking(mandatory_gate=True)
    assert envelope(paused)["status"] == "awaiting_human"
    assert answering(paused, "EU").status == "completed"


@check
def a_silent_turn_ends_green() -> None:
    found = asking("plain")
    assert found.status == "completed"
    assert envelope(found)["status"] == "ok"
    assert envelope(found)["output"]["hitl_paused"] is False


@check
def ceiling_is_per_turn() -> None:
    paused = asking()
    done = answering(paused, "EU")
    total = envelope(paused)["cost_usd"] + envelope(done)["cost_usd"]
    assert done.status == "completed"
    assert 0.50 < total <= 1.00, total
    assert asking("expensive").status == "failed"


@check
def idle_timeout_rederives() -> None:
    for suspended, rederived in (("false", False), ("true", True)):
        done = answering(asking(), "EU", metadata={"suspended": suspended})
        calls = [item for item in done.output if item.type == "function_call"]
        step = next(item for item in calls if item.name == "reconcile")
        assert json.loads(step.arguments) == {"rederived": rederived}
        assert "for 2026-10-16" in done.output_text


@check
def confidential_allowed_question_passes_without_state() -> None:
    paused = asking(confidential=True)
    _, arguments = question(paused)
    assert arguments["request_event"]["data"]["question"] == "Which ledger: EU or US?"
    assert arguments["options"] == ["EU", "US"]
    assert "resume_state" not in arguments
    assert "request" not in arguments
    assert "Reconciled US for 2026-10-16" in answering(paused, "US").output_text


@check
def confidential_replaces_what_it_must() -> None:
    for scenario in ("long_option", "path_option", "odd_question"):
        _, arguments = question(asking(scenario, confidential=True))
        told = json.dumps(arguments)
        assert "options" not in arguments
        for secret in ("alice", "ledgers/us", "UUUU", "ledger: EU"):
            assert secret not in told, scenario
        assert arguments["request_event"]["data"]["question"].strip()
    assert question(asking("long_option"))[1]["options"][1] == "U" * 41
