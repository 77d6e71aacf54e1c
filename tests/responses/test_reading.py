"""What a caller may send, and how what it may not is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.protocols.responses.errors import ResponsesProblem
from workspace.protocols.responses.server.input_items import ITEM_HANDLING, PART_HANDLING
from workspace.protocols.responses.server.parameters import HANDLING
from workspace.protocols.responses.server.request import CreateResponse, read_create, request_of


def read(**body: Any) -> CreateResponse:
    return read_create(json.dumps(body).encode())


def refused(raw: bytes | dict[str, Any]) -> ResponsesProblem:
    with pytest.raises(ResponsesProblem) as caught:
        read_create(raw if isinstance(raw, bytes) else json.dumps(raw).encode())
    return caught.value


def test_a_text_is_a_users_message() -> None:
    found = read(input="hello")

    assert found.text == "hello"
    assert [item["type"] for item in found.items] == ["message"]
    assert found.items[0]["content"] == [{"type": "input_text", "text": "hello"}]


def test_bare_messages_and_parts_are_taken_and_the_last_word_counts() -> None:
    found = read(
        input=[
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "said"},
            {"role": "user", "content": [{"type": "input_text", "text": "last"}]},
        ]
    )

    assert found.text == "last"
    assert found.messages[0] == ("system", "be brief")


def test_a_result_may_be_text_or_parts() -> None:
    parts = [{"type": "input_text", "text": "EU"}]
    found = read(
        input=[
            {"type": "function_call_output", "call_id": "a", "output": "EU"},
            {"type": "function_call_output", "call_id": "b", "output": parts},
        ]
    )

    assert [(one.call_id, one.text) for one in found.outputs] == [("a", "EU"), ("b", "EU")]
    assert found.items[1]["output"] == parts


def test_unknown_fields_and_items_are_taken() -> None:
    found = read(
        input=[{"type": "reasoning", "summary": []}, {"role": "user", "content": "x"}], a=1
    )

    assert found.items[0]["type"] == "reasoning"


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "input", "missing_required_parameter"),
        ({"input": ""}, "input", "missing_required_parameter"),
        ({"input": []}, "input", "missing_required_parameter"),
        ({"input": 7}, "input", "invalid_value"),
        ({"input": ["x"]}, "input", "invalid_value"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input", "invalid_value"),
        ({"input": [{"role": "user", "content": 7}]}, "input", "invalid_value"),
        ({"input": [{"type": 7}]}, "input", "invalid_value"),
        ({"input": "x", "metadata": {"k": "v" * 513}}, "metadata", "invalid_value"),
        ({"input": "x", "metadata": {"k" * 65: "v"}}, "metadata", "invalid_value"),
        ({"input": "x", "metadata": {"k": 1}}, "metadata", "invalid_value"),
        ({"input": "x", "metadata": {str(n): "" for n in range(17)}}, "metadata", "invalid_value"),
        ({"input": "x", "stream": "yes"}, "stream", "invalid_value"),
        ({"input": "x", "tools": {}}, "tools", "invalid_value"),
        ({"input": "x", "model": "m" * 201}, "model", "invalid_value"),
        ({"input": "x", "previous_response_id": 7}, "previous_response_id", "invalid_value"),
        ({"input": "x", "background": True, "store": False}, "background", "unsupported_parameter"),
        ({"input": "x", "conversation": "c"}, "conversation", "unsupported_parameter"),
        ({"input": "a\u0000b"}, None, "invalid_value"),
        (
            {"input": [{"type": "function_call_output", "call_id": "a" * 65, "output": "x"}]},
            "input",
            "invalid_value",
        ),
        (
            {"input": [{"type": "function_call_output", "call_id": "a", "output": 7}]},
            "input",
            "invalid_value",
        ),
    ],
)
def test_what_cannot_be_taken_is_refused_with_the_field_at_fault(
    body: dict[str, Any], param: str | None, code: str
) -> None:
    problem = refused(body)

    assert (problem.status, problem.param, problem.code) == (400, param, code)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff",
        b'{"input": "a", "input": "b"}',
        b'{"input": NaN}',
        b"[" * 9999,
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    assert refused(raw).status == 400


@pytest.mark.case("responses-S20")
def test_a_request_is_the_json_object_that_a_text_is_or_the_text() -> None:
    assert request_of('{"mode": "run"}') == {"mode": "run"}
    assert request_of("[1]") == {"text": "[1]"}
    assert request_of("hello") == {"text": "hello"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


#: Items with the fields that the protocol knows, and anything in them.
ITEMS = st.fixed_dictionaries(
    {
        "input": st.lists(
            st.dictionaries(
                st.sampled_from(["type", "role", "content", "call_id", "output", "id", "approve"]),
                st.sampled_from(["user", *ITEM_HANDLING, *PART_HANDLING]) | JSON,
            ),
            min_size=1,
            max_size=3,
        )
    }
)


@given(st.dictionaries(st.sampled_from([*HANDLING, "x"]), JSON) | ITEMS | JSON)
def test_nothing_that_is_sent_breaks_it(body: object) -> None:
    try:
        read_create(json.dumps(body).encode())
    except ResponsesProblem as problem:
        assert problem.status == 400  # noqa: PT017 -- most inputs raise nothing
