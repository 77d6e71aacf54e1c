"""Envelopes, items, decisions, verdicts and names, as the protocol has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.leaf.world import ITEM
from workspace.protocols.common.http import one_line_json
from workspace.protocols.leaf import wire
from workspace.protocols.leaf.wire import BadDecision, BadEnvelope


def read(**envelope: Any) -> wire.Envelope:
    return wire.read_envelope(json.dumps(envelope).encode())


@pytest.mark.case("leaf-G01")
@pytest.mark.parametrize("action", ["approve", "reject", "abort"])
def test_each_action_is_a_decision(action: str) -> None:
    with_words = wire.validate_decision({"gateId": 2, "action": action, "feedback": "why", "x": 1})
    without = wire.validate_decision({"gateId": 0, "action": action})

    assert (with_words.gate_id, with_words.action, with_words.feedback) == (2, action, "why")
    assert without.feedback is None


@pytest.mark.case("leaf-G02", "leaf-G03", "leaf-G04")
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"gateId": 0, "action": "maybe"}, 'action must be "approve", "reject", or "abort"'),
        ({"gateId": 0}, 'action must be "approve", "reject", or "abort"'),
        ({"action": "approve"}, "gateId must be a non-negative integer"),
        ({"gateId": "0", "action": "approve"}, "gateId must be a non-negative integer"),
        ({"gateId": True, "action": "approve"}, "gateId must be a non-negative integer"),
        ({"gateId": 0.0, "action": "approve"}, "gateId must be a non-negative integer"),
        ({"gateId": -1, "action": "approve"}, "gateId must be a non-negative integer"),
        ({"gateId": 2**80, "action": "approve"}, "gateId must be a non-negative integer"),
        (
            {"gateId": 0, "action": "reject", "feedback": 5},
            "feedback must be a string when present",
        ),
        (None, "decision must be an object"),
        ("approve", "decision must be an object"),
        ([0, "approve"], "decision must be an object"),
    ],
)
def test_what_is_no_decision_is_told_why(sent: object, why: str) -> None:
    with pytest.raises(BadDecision) as refused:
        wire.validate_decision(sent)

    assert str(refused.value) == why


@pytest.mark.case("leaf-T12", "leaf-T13", "leaf-T14", "leaf-T15")
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"item_id": "i1", "verdict": "FLAGGED", "reason": "r"}, ""),
        ({"item_id": "i1", "verdict": "CLEAR", "reason": ""}, ""),
        (
            {"item_id": "i1", "verdict": "MAYBE", "reason": "r"},
            'verdict must be "FLAGGED" or "CLEAR"',
        ),
        ({"item_id": "i1", "verdict": "CLEAR"}, "reason must be a string"),
        ({"verdict": "CLEAR", "reason": "r"}, "item_id must be a non-empty string"),
        (
            {"item_id": "", "verdict": "CLEAR", "reason": "r"},
            "item_id must be a non-empty string",
        ),
        (None, "verdict must be an object"),
        ("FLAGGED", "verdict must be an object"),
    ],
)
def test_verdicts(sent: object, why: str) -> None:
    assert wire.is_verdict(sent) == (not why)
    if why:
        with pytest.raises(ValueError, match="^" + why):
            wire.validate_verdict(sent)


@pytest.mark.case("leaf-R01", "leaf-R02", "leaf-R03", "leaf-R04", "leaf-R09", "leaf-R10")
@pytest.mark.parametrize(
    ("tenant", "raw", "name"),
    [
        ("", "run-1106/i1", "run-1106-i1"),
        ("", "/a b/c/", "a-b-c"),
        ("", "a.b_c-d", "a.b_c-d"),
        ("", "///", "leaf"),
        ("acme", "run-1/i1", "acme-run-1-i1"),
    ],
)
def test_names_for_people(tenant: str, raw: str, name: str) -> None:
    assert wire.leaf_session_id(raw, tenant) == name
    assert wire.session_key(raw, tenant).startswith(f"{name}-")
    assert wire.session_key(raw, tenant) == wire.session_key(raw, tenant)


@pytest.mark.case("leaf-X10")
def test_no_two_sessions_have_one_key() -> None:
    names = [("", "p/m/x"), ("", "p-m-x"), ("p", "m/x"), ("p/m", "x"), ("", "///"), ("", "leaf")]

    assert len({wire.session_key(raw, tenant) for tenant, raw in names}) == len(names)
    assert len(wire.session_key("x" * 500, "y" * 500)) <= 200


@pytest.mark.case("leaf-L10")
def test_items() -> None:
    plain = {name: value for name, value in ITEM.items() if name != "require_approval"}

    assert wire.validate_item(ITEM).require_approval
    assert not wire.validate_item(plain).require_approval
    assert not wire.validate_item({**plain, "require_approval": "true"}).require_approval
    assert not wire.validate_item({**plain, "require_approval": 1}).require_approval
    off: list[object] = [None, [], {}, {**plain, "file": 1}, {"item_id": "i", "file": "f"}]
    for bad in off:
        with pytest.raises(BadEnvelope):
            wire.validate_item(bad)


def test_the_shape_of_an_envelope_is_its_dialect() -> None:
    inline = read(sessionId="s", item=ITEM, tenant="t", maxTurns=3, **{"async": True})
    files = read(sessionId="s", inputsRef="/v/i", resultRef="/v/r", decisionRef="/v/d")

    assert (inline.dialect, inline.tenant, inline.max_turns) == ("inline", "t", 3)
    assert inline.wants_async
    assert files.dialect == "files"
    assert files.refs is not None
    assert files.refs.all == ("/v/i", "/v/r", "/v/r.gate", "/v/r.status", "/v/d")
    assert not files.wants_async
    assert not read(sessionId="s", item=ITEM, **{"async": "true"}).wants_async
    assert read(sessionId="s", item=ITEM, tenant=None, decision=None).tenant == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{nope",
        b"null",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"sessionId":"x"}',
        b'{"sessionId":"","item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"sessionId":"\\u200b","item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"sessionId":"a\\u0000","item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"sessionId":"\\ud800","item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"sessionId":7,"item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"sessionId":"x","item":{"item_id":"i","file":"f"}}',
        b'{"sessionId":"x","item":"i"}',
        b'{"sessionId":"x","inputsRef":"/a"}',
        b'{"sessionId":"x","inputsRef":"/a","resultRef":7}',
        b'{"sessionId":"x","inputsRef":"/a","resultRef":"/b","item":{"item_id":"i","file":"f","pattern":"p"}}',
        b'{"sessionId":"x","kind":"solve","problemStatement":"p","repoUrl":"u","ref":"main"}',
        b'{"sessionId":"x","maxTurns":"40","item":{"item_id":"i","file":"f","pattern":"p"}}',
    ],
)
def test_what_is_no_envelope(body: bytes) -> None:
    with pytest.raises(BadEnvelope):
        wire.read_envelope(body)


@pytest.mark.case("leaf-T20", "leaf-T21")
def test_turns_are_never_unlimited() -> None:
    assert [wire.turns_allowed(asked) for asked in (0, -3, 1, 12)] == [40, 40, 1, 12]


def test_json_is_compact_as_clients_grep_it() -> None:
    assert one_line_json({"status": "awaiting_approval", "gateId": 0, "é": [1, 2]}) == (
        '{"status":"awaiting_approval","gateId":0,"é":[1,2]}'
    )
