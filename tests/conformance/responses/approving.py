"""What a client with tools of its own meets: steps of the same name, and approvals in both shapes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import openai

from tests.conformance.responses.client import (
    MODEL,
    Json,
    answer,
    ask,
    asking,
    check,
    client,
    envelope,
    raw_stream,
    refused,
    strict_stream,
    wait_for,
)

#: The scripted agent has a step of this name.
COLLIDING: Json = {
    "type": "function",
    "name": "load_ledger",
    "description": "Load a ledger of the caller's own.",
    "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    "strict": True,
}
MCP: Json = {"type": "mcp", "server_label": "needs-you", "server_url": "https://needs-you.invalid"}


def kinds(response: Json) -> list[str]:
    return [item["type"] for item in response["output"]]


@check
def a_step_of_a_tools_name_is_no_call() -> None:
    for choice in ("auto", "none"):
        body = ask("plain", tools=None) | {"tools": [COLLIDING], "tool_choice": choice}
        found = client.responses.create(**body).to_dict()
        assert kinds(found) == ["reasoning", "reasoning", "message"], kinds(found)
        assert found["tools"] == [COLLIDING]
        streamed = strict_stream(raw_stream(**body), "response.completed")
        assert kinds(streamed) == kinds(found)


@check
def a_console_without_tools_sees_steps_as_calls() -> None:
    found = asking("plain").to_dict()
    assert kinds(found) == ["function_call", "function_call", "message"]


@check
def the_result_of_a_step_starts_nothing() -> None:
    first = asking("plain")
    calls = [item.to_dict() for item in first.output if item.type == "function_call"]
    transcript = [{"role": "user", "content": ask("plain")["input"]}]
    for call in calls:
        transcript += [call, *answer(call["call_id"], "done")]
    chains: list[Json] = [{}, {"previous_response_id": first.id}]
    for chain in chains:
        body = {"model": MODEL, "input": transcript, "tools": [COLLIDING], **chain}
        refused(openai.BadRequestError, partial(client.responses.create, **body), param="input")


def approval(response: Any) -> tuple[Any, Json]:
    (item,) = [one for one in response.output if getattr(one, "name", "") == "request_approval"]
    return item, json.loads(item.arguments)


@check
def an_approval_is_a_call_with_its_binding() -> None:
    paused = asking("approve")
    item, arguments = approval(paused)
    assert arguments["action"]["operation"] == "pay"
    refused(
        openai.BadRequestError,
        lambda: client.responses.create(
            model=MODEL, previous_response_id=paused.id, input=answer(item.call_id, "Approve")
        ),
        code="unbindable",
    )
    output = json.dumps({"decision": "Approve", "binding": arguments["binding"]})
    done = client.responses.create(
        model=MODEL, previous_response_id=paused.id, input=answer(item.call_id, output)
    )
    assert "Reconciled Approve" in done.output_text


@check
def an_approval_in_the_shape_of_mcp() -> None:
    body = ask("approve") | {"tools": [MCP]}
    paused = strict_stream(raw_stream(**body), "response.completed")
    (request,) = [item for item in paused["output"] if item["type"] == "mcp_approval_request"]
    assert (request["server_label"], request["name"]) == ("needs-you", "pay")
    answered = {"type": "mcp_approval_response", "approval_request_id": request["id"]}
    for word, approve in (("Deny", False), ("Deny", False)):
        done = client.responses.create(
            model=MODEL,
            previous_response_id=paused["id"],
            input=[{**answered, "approve": approve}],
            tools=[MCP],
        )
        assert f"Reconciled {word}" in done.output_text
    refused(
        openai.ConflictError,
        lambda: client.responses.create(
            model=MODEL, previous_response_id=paused["id"], input=[{**answered, "approve": True}]
        ),
        code="already_answered",
    )


@check
def a_paused_response_names_the_one_that_goes_on() -> None:
    paused = asking()
    before = envelope(client.responses.retrieve(paused.id))
    assert (before["status"], before["next_response_id"]) == ("awaiting_human", None)
    call_id = before["questions"][0]["call_id"]
    done = client.responses.create(
        model=MODEL, previous_response_id=paused.id, input=answer(call_id, "EU"), background=True
    )
    after = envelope(client.responses.retrieve(paused.id))
    assert (after["status"], after["next_response_id"]) == ("answered", done.id)
    assert "Reconciled EU" in wait_for(done.id).output_text
