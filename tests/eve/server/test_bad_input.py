"""Whatever is sent, the answer is a 4xx in the protocol's own words, and nothing happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.models import Session
from tests.eve.server.world import REFUND, Caller, refused
from workspace.protocols.eve import wire
from workspace.protocols.eve.errors import EveProblem
from workspace.protocols.eve.server import service

pytestmark = pytest.mark.django_db

DEEP = b'{"clientContext":' + b'{"a":' * 5000 + b"1" + b"}" * 5001
HUGE_NUMBER = b'{"message":"x","clientContext":{"n":' + b"9" * 5000 + b"}}"
TOO_LARGE = json.dumps({"message": "x" * 2_000_000}).encode()

NOT_AN_OBJECT: list[tuple[bytes, int, str]] = [
    (b"{bad", 400, wire.NOT_JSON),
    (b"\xff\xfe", 400, wire.NOT_JSON),
    (b'{"message":"a","message":"b"}', 400, wire.NOT_JSON),
    (b'{"message":NaN}', 400, wire.NOT_JSON),
    (DEEP, 400, wire.NOT_JSON),
    (HUGE_NUMBER, 400, wire.NOT_JSON),
    (b"[]", 400, wire.NOT_AN_OBJECT),
    (b"null", 400, wire.NOT_AN_OBJECT),
    (b'"x"', 400, wire.NOT_AN_OBJECT),
    (TOO_LARGE, 413, "The body is larger than 262144 bytes."),
]
CREATE: list[tuple[dict[str, Any], int, str]] = [
    ({"message": ""}, 400, wire.EMPTY_MESSAGE),
    ({"message": " \u200b"}, 400, wire.EMPTY_MESSAGE),
    ({"message": 5}, 400, wire.BAD_MESSAGE),
    ({"message": None}, 400, wire.BAD_MESSAGE),
    ({"message": {"text": "x"}}, 400, wire.BAD_MESSAGE),
    ({"message": [{"type": "text"}]}, 400, wire.BAD_MESSAGE),
    ({"message": [{"type": "text", "text": 5}]}, 400, wire.BAD_MESSAGE),
    ({"message": ["x"]}, 400, wire.BAD_MESSAGE),
    ({"message": []}, 400, wire.EMPTY_MESSAGE),
    (
        {"message": [{"type": "image", "url": "x"}]},
        400,
        "Unsupported message part type \"image\". Use 'text' or 'file'.",
    ),
    (
        {"message": [{"type": "file", "mediaType": "text/plain", "data": "eA=="}]},
        415,
        "This agent accepts text, but no files.",
    ),
    ({"message": "a\0b"}, 400, "'message' contains a character that cannot be stored."),
    ({"message": "\ud800"}, 400, "'message' contains a character that cannot be stored."),
    ({"message": "x" * 16_001}, 413, "'message' has 16001 characters; the limit is 16000."),
    ({"inputResponses": [{"requestId": "x"}]}, 400, wire.NOT_ON_CREATE),
    ({"clientContext": "x"}, 400, wire.NO_MESSAGE),
    ({"outputSchema": {}}, 400, wire.NO_MESSAGE),
    ({"message": "x", "clientContext": 5}, 400, wire.BAD_CONTEXT),
    ({"message": "x", "clientContext": [1]}, 400, wire.BAD_CONTEXT),
    ({"message": "x", "outputSchema": {}}, 400, "'outputSchema' is not supported by this server."),
    ({"message": "x", "callback": {}}, 400, "'callback' is not supported by this server."),
    (
        {"message": "x", "forwardedPrincipal": {"principalId": "olga"}},
        400,
        "'forwardedPrincipal' is not supported by this server.",
    ),
    ({"message": "x", "mode": "task"}, 400, "Only the mode 'conversation' is supported."),
    (
        {"message": "x", "capabilities": {"requestInput": False}},
        400,
        "Agents here may always ask: 'requestInput' cannot be false.",
    ),
    ({"message": "x", "capabilities": 5}, 400, "Expected 'capabilities' to be an object."),
    (
        {"message": "x", "operationId": ""},
        400,
        "Expected 'operationId' to be a non-empty string.",
    ),
    ({"message": "x", "operationId": 5}, 400, "Expected 'operationId' to be a non-empty string."),
    (
        {"message": "x", "operationId": "o" * 201},
        413,
        "'operationId' has 201 characters; the limit is 200.",
    ),
    (
        {"message": "x", "continuationToken": "t"},
        400,
        "Send a 'continuationToken' to the session's own address.",
    ),
]
CONTINUE: list[tuple[dict[str, Any], str]] = [
    ({}, wire.NOTHING),
    ({"message": "a", "inputResponses": [{"requestId": "x"}]}, wire.BOTH),
    ({"inputResponses": []}, wire.EMPTY_RESPONSES),
    ({"inputResponses": {}}, wire.EMPTY_RESPONSES),
    ({"inputResponses": None}, wire.EMPTY_RESPONSES),
    ({"inputResponses": ["x"]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"optionId": "approve"}]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"requestId": ""}]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"requestId": 5}]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"requestId": "x" * 201}]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"requestId": "x", "extra": 1}]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"requestId": "x", "optionId": True}]}, wire.BAD_RESPONSES),
    ({"inputResponses": [{"requestId": "x", "text": ["a"]}]}, wire.BAD_RESPONSES),
    (
        {"inputResponses": [{"requestId": str(n)} for n in range(101)]},
        "Expected 'inputResponses' to have at most 100 entries.",
    ),
    ({"message": "a", "turnPolicy": "now"}, wire.BAD_POLICY),
    ({"message": "a", "continuationToken": 5}, "Missing or empty 'continuationToken' field."),
    ({"message": "a", "continuationToken": ""}, "Missing or empty 'continuationToken' field."),
]


def test_what_is_no_object(caller: Caller) -> None:
    talk = caller.open(REFUND)
    before = talk.events()
    for body, status, error in NOT_AN_OBJECT:
        for what, ids in (
            (service.create_session, ()),
            (service.continue_session, (talk.id,)),
            (service.reset_session, (talk.id,)),
        ):
            with pytest.raises(EveProblem) as problem:
                caller.raw(what, *ids, body=body)
            assert (problem.value.status, problem.value.error) == (status, error), body[:80]
    assert talk.events() == before


def test_what_opens_no_session(caller: Caller) -> None:
    before = Session.objects.count()
    for body, status, error in CREATE:
        with pytest.raises(EveProblem) as problem:
            caller.call(service.create_session, **body)
        assert (problem.value.status, problem.value.error) == (status, error), body
    assert Session.objects.count() == before


@pytest.mark.case("C10")
def test_what_is_neither_a_message_nor_answers(caller: Caller) -> None:
    talk = caller.open(REFUND)
    before = talk.events()
    for body, error in CONTINUE:
        with pytest.raises(EveProblem) as problem:
            talk.send(**body)
        assert (problem.value.status, problem.value.error) == (400, error), body
    assert talk.events() == before


def test_answers_that_cannot_be_kept(caller: Caller) -> None:
    talk = caller.open(REFUND)
    [request] = talk.open_requests()
    for response, status, code in (
        ({"requestId": "a\0b", "optionId": "approve"}, 404, "unknown_request"),
        ({"requestId": "\ud800", "optionId": "approve"}, 400, ""),
        ({"optionId": "a\0b"}, 422, "invalid"),
        ({"optionId": "approve", "text": "a\0b"}, 422, "invalid"),
        ({"optionId": "approve", "text": "x" * 16_001}, 422, "invalid"),
        ({"optionId": "x" * 10_000}, 422, "unknown_option"),
    ):
        with pytest.raises(EveProblem) as problem:
            talk.answer({"requestId": request["requestId"], **response})
        assert refused(problem.value) == (status, code), response
    assert talk.open_requests() == [request]


def test_sessions_that_are_not_there(caller: Caller) -> None:
    for name in ("", "wrun_nobody", "a\0b", "\ud800", "x" * 500, "wrun_é", "../x"):
        for body in ({"message": "x"}, {"inputResponses": [{"requestId": "x"}]}):
            with pytest.raises(EveProblem) as problem:
                caller.call(service.continue_session, name, **body)
            assert refused(problem.value) == (409, "session_not_active")
        assert caller.call(service.cancel_turn, name) == {"ok": True, "status": "no_active_turn"}
        for what in (service.clear_session, service.reset_session):
            assert caller.call(what, name) == {"ok": True, "status": "no_active_session"}


def test_parts_of_text_are_one_message(caller: Caller) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    made = caller.call(service.create_session, message=parts)
    assert made["status"] == "accepted"
    assert Session.objects.latest("pk").title == "one\ntwo"
