"""How the questions of each dialect are read, and in what words they are answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asks.drafts import validation
from tests.responses.remotes import call, question
from workspace.protocols.responses.client.dialects import (
    ADAPTER,
    DEVUI_EVENT,
    RemoteQuestion,
    question_in_event,
    question_in_item,
)


def read(item: dict[str, Any]) -> RemoteQuestion:
    found = question_in_item(item)
    assert found is not None
    validation.check_draft(found.draft())
    return found


def labels(found: RemoteQuestion) -> list[str]:
    return [option.label for option in found.draft().options]


@pytest.mark.case("responses-C14", "responses-C22")
def test_the_seeds_question() -> None:
    request = {"mode": "run", "target_date": "2026-10-16"}

    found = read(question(request=request, resume_state=request))

    assert (found.dialect, found.key) == ("seed", "ledger.aaaaaaaaaaaa")
    assert found.draft().prompt == "Which ledger?"
    assert labels(found) == ["EU", "US"]
    assert found.draft().context == {"request": request}
    assert found.answer("option-2", "") == {
        "type": "function_call_output",
        "call_id": "ledger.aaaaaaaaaaaa",
        "output": "US",
    }


@pytest.mark.case("responses-C14")
def test_a_question_is_known_by_its_name_alone() -> None:
    assert read(question(call_id="request_info")).key == "request_info"


@pytest.mark.parametrize(
    "data", ["Which ledger?", {"prompt": "Which ledger?"}, {"message": "Which ledger?"}]
)
def test_a_workflow_hosts_question(data: object) -> None:
    event = {
        "type": "request_info",
        "data": data,
        "request_id": "r1",
        "source_executor_id": "ask",
        "request_type": "builtins.dict",
        "response_type": "builtins.str",
    }

    found = read(call("request_info", "r1", {"request_id": "r1", "request_event": event}))

    assert found.draft().prompt == "Which ledger?"
    assert found.draft().free_text or not found.draft().options
    assert found.answer("", "the Swiss one")["output"] == "the Swiss one"  # type: ignore[index]


def test_what_may_be_anything_is_shown_as_it_is() -> None:
    event = {"type": "request_info", "data": {"rows": [1, 2]}}

    assert read(call("request_info", "r1", {"request_event": event})).text == '{"rows": [1, 2]}'


def test_a_yes_or_no_is_typed_as_the_host_wants_it() -> None:
    event = {"type": "request_info", "data": "Publish?", "response_type": "builtins.bool"}

    found = read(call("request_info", "r1", {"request_event": event}))

    assert labels(found) == ["Yes", "No"]
    assert found.answer("option-1", "")["output"] == "true"  # type: ignore[index]


def test_a_native_hosts_question() -> None:
    arguments = {"request_id": "r1", "request": {"question": "Which?", "options": ["EU", "US"]}}

    found = read(call("request_info", "call_9", arguments))

    assert (found.dialect, found.call_id, found.text) == ("native", "call_9", "Which?")
    assert labels(found) == ["EU", "US"]
    assert found.answer("option-1", "") == {
        "type": "function_call_output",
        "call_id": "call_9",
        "output": "EU",
    }


@pytest.mark.parametrize(
    ("arguments", "text"), [('"Go on?"', "Go on?"), ('{"question": "Go on?"}', "Go on?")]
)
def test_the_older_adapters_question(arguments: str, text: str) -> None:
    found = read(call(ADAPTER, "i1", arguments, status="in_progress"))

    assert (found.dialect, found.text) == ("adapter", text)
    assert json.loads(found.answer("", "yes")["output"]) == {"resume": "yes"}  # type: ignore[index]


def test_an_approval_is_bound_to_exactly_its_action() -> None:
    item = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "bank",
        "name": "refund",
        "arguments": '{"amount": 100}',
    }

    found = read(item)

    action = found.draft().action
    assert action is not None
    assert (action.operation, action.params) == ("bank.refund", {"amount": 100})
    assert found.answer("approve", "") == {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": True,
    }
    assert found.answer("deny", "too much") == {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": False,
        "reason": "too much",
    }


def test_the_question_of_an_event_beside_the_items() -> None:
    event = {
        "type": DEVUI_EVENT,
        "request_id": "r1",
        "request_data": {"question": "Which?"},
        "response_schema": {"enum": ["EU", "US"]},
    }

    found = question_in_event(event)

    assert found is not None
    assert labels(found) == ["EU", "US"]
    answer = found.answer("option-1", "")
    assert isinstance(answer, str)
    assert json.loads(answer) == [
        {
            "type": "message",
            "content": [{"type": "workflow_hil_response", "responses": {"r1": {"response": "EU"}}}],
        }
    ]


@pytest.mark.parametrize(
    "item",
    [
        call("request_info", "r1", "{not json"),
        call("request_info", "r1", "[1]"),
        call("request_info", "r1", {"request_event": {"data": " "}}),
        call("request_info", "", {"request_event": {"data": "Which?"}}),
        call(ADAPTER, "r1", "{not json"),
        {"type": "mcp_approval_request", "id": "m1", "name": "x", "arguments": "{not"},
    ],
)
def test_a_question_that_cannot_be_read_is_shown_and_can_only_be_closed(item: Any) -> None:
    found = question_in_item(item)
    assert found is not None

    assert not found.readable
    assert labels(found) == ["Close it"]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["EU", "EU"], []),
        (["EU", ""], []),
        ("EU", []),
        ([{"id": "eu", "label": "Europe"}, {"value": 2, "title": "Two"}], ["Europe", "Two"]),
        ([1, 2.5], ["1", "2.5"]),
        ([["EU"]], []),
    ],
)
def test_offers_that_cannot_be_told_apart_are_named_in_the_question(
    options: object, shown: list[str]
) -> None:
    found = read(question(options=options))

    assert labels(found) == shown
    assert shown or "Offered: " in found.text


def test_a_chosen_offer_goes_back_as_its_value() -> None:
    found = read(question(options=[{"id": "eu", "label": "Europe"}, {"value": 2, "label": "Two"}]))

    assert found.answer("option-1", "")["output"] == "eu"  # type: ignore[index]
    assert found.answer("option-2", "")["output"] == "2"  # type: ignore[index]


@pytest.mark.parametrize("call_id", ["a" * 500, "a\0b", "\ud800"])
def test_a_call_id_that_cannot_be_kept_has_a_name_of_its_own(call_id: str) -> None:
    found = read(question(call_id=call_id))

    assert found.key.startswith("call-")
    assert found.answer("option-1", "")["call_id"] == call_id  # type: ignore[index]


def test_other_items_are_no_questions() -> None:
    assert question_in_item(call("load", "load", "{}")) is None
    assert question_in_item({"type": "reasoning", "id": "rs_1"}) is None
    assert question_in_event({"type": "response.created"}) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.sampled_from(["request_info", ADAPTER]),
    st.text(),
    JSON
    | st.fixed_dictionaries(
        {"request_event": st.fixed_dictionaries({"data": JSON}), "options": JSON, "request": JSON}
    ),
)
def test_whatever_is_asked_can_be_shown(name: str, call_id: str, arguments: Any) -> None:
    item = {
        "type": "function_call",
        "name": name,
        "call_id": call_id,
        "arguments": json.dumps(arguments),
    }

    found = question_in_item(item)

    assert found is not None
    validation.check_draft(found.draft())
    RemoteQuestion.model_validate_json(found.model_dump_json())
