"""Each dialect from its question on the wire to the answer that goes back, over a real socket."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User

from asks.queue import queries
from tests.responses.remote.acts import DONE, ask_of, decide, told
from tests.responses.remotes import (
    Exchange,
    Remote,
    call,
    remote_agent,
    response,
    start,
    streamed,
    tells,
)
from workspace.protocols.responses.client.dialects import ADAPTER, DEVUI_EVENT

pytestmark = pytest.mark.django_db

WORKFLOW = call(
    "request_info",
    "r1",
    {
        "request_id": "r1",
        "request_event": {
            "type": "request_info",
            "data": "Publish?",
            "request_id": "r1",
            "source_executor_id": "ask",
            "request_type": "builtins.str",
            "response_type": "builtins.bool",
        },
    },
)
NATIVE = call("request_info", "r1", {"request_id": "w1", "request": {"question": "Publish?"}})
OLDER = call(ADAPTER, "r1", '"Publish?"', status="in_progress")
APPROVAL = {
    "type": "mcp_approval_request",
    "id": "r1",
    "server_label": "press",
    "name": "publish",
    "arguments": '{"number": 7}',
}
ASKED = {
    "type": DEVUI_EVENT,
    "request_id": "r1",
    "source_executor_id": "ask",
    "request_data": {"prompt": "Publish?"},
    "response_schema": {"type": "string"},
}


@dataclass(frozen=True)
class Loop:
    """What a server tells, what is asked here, what its owner says, and what must go back."""

    paused: dict[str, Any]
    prompt: str
    back: Any
    label: str = ""
    text: str = ""
    beside: list[dict[str, Any]] = field(default_factory=list)


def output(value: str) -> list[dict[str, Any]]:
    return [{"type": "function_call_output", "call_id": "r1", "output": value}]


IN_ONE_TEXT = json.dumps(
    [
        {
            "type": "message",
            "content": [
                {"type": "workflow_hil_response", "responses": {"r1": {"response": "go on"}}}
            ],
        }
    ]
)
LOOPS = {
    "workflow": Loop(response(WORKFLOW), "Publish?", output("true"), label="Yes"),
    "native": Loop(response(NATIVE), "Publish?", output("go on"), text="go on"),
    "adapter": Loop(response(OLDER), "Publish?", output('{"resume": "go on"}'), text="go on"),
    "approval": Loop(
        response(APPROVAL),
        "Allow the agent to run press.publish?",
        [{"type": "mcp_approval_response", "approval_request_id": "r1", "approve": True}],
        label="Approve",
    ),
    "devui": Loop(
        response(conversation={"id": "conv_1"}),
        "Publish?",
        IN_ONE_TEXT,
        text="go on",
        beside=[ASKED],
    ),
}


def pauses(loop: Loop) -> Any:
    """A stream with the items of a paused response, and an event beside them if there is one."""
    begun, *rest = streamed(loop.paused)
    events = [{**one, "sequence_number": n} for n, one in enumerate([begun, *loop.beside, *rest])]

    def script(exchange: Exchange) -> None:
        exchange.stream(*events)

    return script


@pytest.mark.case("responses-C14", "responses-C22")
@pytest.mark.parametrize("name", LOOPS)
def test_a_question_of_every_dialect_is_asked_and_its_answer_goes_back(
    owner: User, remote: Remote, name: str
) -> None:
    loop = LOOPS[name]
    remote.then(pauses(loop))
    session = start(remote_agent(owner, remote.url), owner)

    ask = ask_of(session)
    assert (ask.request_key, ask.prompt) == ("r1", loop.prompt)
    assert queries.count_badge(owner) == 1
    assert told(session, "step") == []
    remote.then(tells(DONE))
    decide(session, owner, loop.label, loop.text)

    sent = remote.posts[-1].body
    assert sent["input"] == loop.back
    about = "conversation" if loop.beside else "previous_response_id"
    assert sent[about] == ("conv_1" if loop.beside else "resp_1")
    assert len(remote.posts) == 2
    assert told(session, "summary") == ["Closed October."]
