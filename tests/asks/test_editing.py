"""A call that an owner changes before approving it: where that is allowed, what fits, what is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from agents.models import Agent, InboxItem, Session
from asks.actions import binding, grants
from asks.answering import Answered, answer_ask
from asks.drafts import ActionDraft
from asks.ledger import verify
from asks.lifecycle import Reason
from asks.models import Ask, Grant, LedgerRecord, Refusal, Verdict
from asks.refusals import Refused
from tests.factories import AskFactory, echo_of
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db
PARAMS: dict[str, Any] = {
    "charge": "ch_1",
    "amount": 48,
    "notify": True,
    "memo": None,
    "to": {"name": "Ada", "lines": ["1 Road", "Town"]},
}
CALL = ActionDraft("refund", PARAMS)
SCHEMA = {
    "type": "object",
    "properties": {
        "charge": {"type": "string", "pattern": "^ch_"},
        "amount": {"type": "number", "minimum": 1, "maximum": 100},
        "memo": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "currency": {"enum": ["EUR", "USD"]},
    },
    "required": ["charge", "amount"],
    "additionalProperties": False,
}
WITH_SCHEMA = ActionDraft("refund", {"charge": "ch_1", "amount": 48, "memo": None}, schema=SCHEMA)


@pytest.fixture
def editable(agent: Agent) -> None:
    in_force(agent, refund(may_edit=True))


def approve(ask: Ask, by: User, edited: Any, *, option: str = "approve", text: str = "") -> Any:
    return answer_ask(
        ask_id=ask.pk, by=by, option=option, text=text, echo=echo_of(ask), edited=edited
    )


@pytest.mark.case("C12")
@pytest.mark.usefixtures("editable")
def test_the_edited_call_is_what_is_granted_and_both_are_kept(
    session: Session, owner: User
) -> None:
    ask, edited = asked(session, CALL), {**PARAMS, "amount": 12.5}
    done = approve(ask, owner, edited, text="half of it")
    assert isinstance(done, Answered)
    verdict = Verdict.objects.get()
    digest = binding.action_hash("refund", edited)
    assert verdict.edit == {"original": PARAMS, "edited": edited, "action_hash": digest}
    assert verdict.echo == echo_of(ask), "the binding is the one that was shown"
    grant = Grant.objects.get()
    assert (grant.params, grant.action_hash) == (edited, digest)
    owed = InboxItem.objects.get(kind="verdict")
    assert owed.data["edited"] == owed.data["params"] == edited
    assert grants.redeem_grant(session_id=session.pk, operation="refund", params=PARAMS) is None
    assert grants.redeem_grant(session_id=session.pk, operation="refund", params=edited) == grant


@pytest.mark.usefixtures("editable")
def test_the_ledger_tells_both_calls(session: Session, owner: User) -> None:
    approve(asked(session, CALL), owner, {**PARAMS, "amount": 1})
    record = LedgerRecord.objects.get(kind="verdict")
    facts = json.loads(record.body)["facts"]
    assert facts["gate"]["params"]["amount"] == facts["verdict"]["edit"]["original"]["amount"] == 48
    assert facts["verdict"]["edit"]["edited"]["amount"] == 1
    verify.prove_record(record)


@pytest.mark.usefixtures("editable")
def test_params_that_are_the_same_are_no_edit(session: Session, owner: User) -> None:
    ask = asked(session, CALL)
    assert isinstance(approve(ask, owner, json.loads(json.dumps(PARAMS))), Answered)
    assert Verdict.objects.get().edit is None
    assert Grant.objects.get().action_hash == ask.gate.action_hash
    assert "edited" not in InboxItem.objects.get(kind="verdict").data


@pytest.mark.usefixtures("editable")
def test_the_same_edit_again_is_the_recorded_verdict_and_another_is_too_late(
    session: Session, owner: User
) -> None:
    ask = asked(session, CALL)
    first = approve(ask, owner, {**PARAMS, "amount": 5})
    again = approve(ask, owner, {**PARAMS, "amount": 5})
    assert again.repeated
    assert again.verdict == first.verdict
    for other in ({**PARAMS, "amount": 6}, None):
        assert approve(ask, owner, other).reason == Reason.CLOSED


@pytest.mark.parametrize("rule", [{}, {"may_edit": False}])
def test_an_edit_that_no_policy_allows_is_refused_and_recorded(
    agent: Agent, session: Session, owner: User, rule: dict[str, Any]
) -> None:
    in_force(agent, refund(**rule))
    ask = asked(session, CALL)
    refused = approve(ask, owner, {**PARAMS, "amount": 5})
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.http_status) == (Reason.NOT_EDITABLE, 403)
    kept = Refusal.objects.get()
    assert json.loads(kept.submitted["edited"])["amount"] == 5
    ask.refresh_from_db()
    assert ask.status == "open"
    assert not Grant.objects.exists()


def test_a_question_has_nothing_to_change(session: Session, owner: User) -> None:
    ask = AskFactory(session=session)
    refused = answer_ask(ask_id=ask.pk, by=owner, option="eu", edited={"a": 1})
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.NOT_EDITABLE


def test_where_several_decide_nobody_changes_it_alone(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    in_force(agent, refund(may_edit=True), quorum=2)
    refused = approve(asked(session, CALL), owner, {**PARAMS, "amount": 5})
    assert refused.reason == Reason.NOT_EDITABLE
    assert "Several people decide" in refused.detail


@pytest.mark.usefixtures("editable")
def test_a_denial_carries_no_change(session: Session, owner: User) -> None:
    refused = approve(asked(session, CALL), owner, {**PARAMS, "amount": 5}, option="deny")
    assert (refused.reason, refused.http_status) == (Reason.BAD_EDIT, 422)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in PARAMS.items() if key != name}


@pytest.mark.case("C10")
@pytest.mark.usefixtures("editable")
@pytest.mark.parametrize(
    ("edited", "path", "why"),
    [
        ({**PARAMS, "amount": "48"}, "amount", "It must be a number."),
        ({**PARAMS, "amount": True}, "amount", "It must be a number."),
        ({**PARAMS, "amount": None}, "amount", "It must be a number."),
        ({**PARAMS, "notify": 1}, "notify", "It must be true or false."),
        ({**PARAMS, "notify": "true"}, "notify", "It must be true or false."),
        ({**PARAMS, "memo": ""}, "memo", "It must be null."),
        ({**PARAMS, "charge": 7}, "charge", "It must be text."),
        ({**PARAMS, "to": {"name": 1, "lines": []}}, "to.name", "It must be text."),
        ({**PARAMS, "to": {"name": "A", "lines": ["x", 2]}}, "to.lines[1]", "It must be text."),
        ({**PARAMS, "to": {"name": "A", "lines": "x"}}, "to.lines", "It must be a list."),
        ({**PARAMS, "to": {"name": "A"}}, "to.lines", "It is missing."),
        ({**PARAMS, "more": 1}, "more", "The agent did not send this value."),
        (without("memo"), "memo", "It is missing."),
        ([PARAMS], "", "It must be an object."),
        ({**PARAMS, "charge": "a\0b"}, "", "A text contains a character that cannot be stored."),
        ({**PARAMS, "amount": 2**60}, "", "An integer is larger than 2^53 - 1"),
        ({**PARAMS, "amount": float("nan")}, "", "nan is not a number in JSON."),
    ],
)
def test_types_are_kept_where_no_schema_says_otherwise(
    session: Session, owner: User, edited: Any, path: str, why: str
) -> None:
    ask = asked(session, CALL)
    refused = approve(ask, owner, edited)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.BAD_EDIT
    assert refused.flaws[0].path == path
    assert why in refused.flaws[0].why
    assert (f"{path}: {why}" if path else why) in refused.detail
    assert Refusal.objects.get().submitted["edited"]


@pytest.mark.usefixtures("editable")
@pytest.mark.parametrize(
    ("change", "path", "why"),
    [
        ({"amount": 0}, "amount", "It must be at least 1."),
        ({"amount": 101}, "amount", "It must be at most 100."),
        ({"charge": "x"}, "charge", "It must match the pattern ^ch_."),
        ({"memo": "too long"}, "memo", "It does not fit the tool's schema."),
        ({"memo": 1}, "memo", "It must be null or text."),
        ({"currency": "GBP"}, "currency", 'It must be one of "EUR", "USD".'),
        ({"other": 1}, "other", "The agent did not send this value."),
    ],
)
def test_what_is_changed_must_fit_the_tool_s_schema(
    session: Session, owner: User, change: dict[str, Any], path: str, why: str
) -> None:
    ask = asked(session, WITH_SCHEMA)
    refused = approve(ask, owner, {**WITH_SCHEMA.params, **change})
    assert (refused.flaws[0].path, refused.flaws[0].why) == (path, why)


@pytest.mark.usefixtures("editable")
@pytest.mark.parametrize("change", [{"memo": "yes"}, {"currency": "EUR"}, {"amount": 99.5}])
def test_what_the_schema_takes_may_be_given(
    session: Session, owner: User, change: dict[str, Any]
) -> None:
    edited = {**WITH_SCHEMA.params, **change}
    assert isinstance(approve(asked(session, WITH_SCHEMA), owner, edited), Answered)
    assert Grant.objects.get().params == edited


@pytest.mark.usefixtures("editable")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"patternProperties": {"(a+)+$": {}}},
        {"title": "x" * 40_000},
        {"a": float("inf")},
    ],
)
def test_with_a_schema_that_cannot_be_used_it_is_asked_and_cannot_be_changed(
    session: Session, owner: User, schema: dict[str, Any]
) -> None:
    ask = asked(session, ActionDraft("refund", {"amount": 1}, schema=schema))
    refused = approve(ask, owner, {"amount": 2})
    assert refused.reason == Reason.NOT_EDITABLE
    assert "takes no other call" in refused.detail
    assert isinstance(approve(ask, owner, None), Answered)


@pytest.mark.usefixtures("editable")
def test_a_schema_that_leads_in_circles_or_elsewhere_lets_nothing_through(
    session: Session, owner: User
) -> None:
    for schema in ({"$ref": "#"}, {"$ref": "http://127.0.0.1:9/schema"}):
        ask = asked(
            session, ActionDraft("refund", {"amount": 1}, schema=schema), key=json.dumps(schema)
        )
        refused = approve(ask, owner, {"amount": 2})
        assert refused.reason == Reason.BAD_EDIT
        assert "cannot be followed" in refused.detail


@pytest.mark.usefixtures("editable")
@pytest.mark.parametrize(
    "leads_to", ["", "/properties", "/$defs/odd", "/$defs/odd/enum", "/nowhere"]
)
def test_a_reference_to_what_is_no_schema_lets_nothing_else_through(
    session: Session, owner: User, leads_to: str
) -> None:
    odd = {"enum": [7], "type": "object", "properties": {"type": {}, "anyOf": {}, "enum": {}}}
    properties = {"amount": {"$ref": f"#{leads_to}"}, "type": {"type": "string"}}
    schema = {"properties": properties, "$defs": {"odd": odd}}
    ask = asked(session, ActionDraft("refund", {"amount": 1, "type": "a"}, schema=schema))
    refused = approve(ask, owner, {"amount": "more", "type": "a"})
    assert refused.reason in {Reason.BAD_EDIT, Reason.NOT_EDITABLE}


def test_what_names_a_bound_file_stays(agent: Agent, session: Session, owner: User) -> None:
    in_force(agent, refund(may_edit=True, bind_files=["path"]))
    ask = asked(session, ActionDraft("refund", {"path": "a.txt", "amount": 1}))
    refused = approve(ask, owner, {"path": "b.txt", "amount": 1})
    assert refused.flaws[0].path == "path"
    assert isinstance(approve(ask, owner, {"path": "a.txt", "amount": 2}), Answered)
    assert Grant.objects.get().files == ask.gate.files


@pytest.mark.usefixtures("editable")
def test_the_database_keeps_a_change_to_approvals(session: Session, owner: User) -> None:
    ask = asked(session, CALL)
    with pytest.raises(IntegrityError), transaction.atomic():
        Verdict.objects.create(
            ask=ask, decided_by=owner, text="no", meaning="deny", edit={"edited": {}}
        )


@pytest.mark.parametrize("rule", [{"money_critical": True}, {"quorum": 2}])
def test_a_policy_cannot_allow_a_change_where_it_could_not_be_made(
    agent: Agent, rule: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        in_force(agent, refund(may_edit=True, **rule))
