"""An edited call is judged by the tool itself at submit: what cannot be called is not approved."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from asks.answering import Answered, answer_ask
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Verdict
from asks.policies.versions import add_version
from asks.refusals import Refused
from tests.api.calling import Caller
from tests.eve.runtime.world import Brain, call, carry_all, open_asks, say, session_for
from tests.factories import echo_of
from workspace.accounts import api_keys

pytestmark = pytest.mark.django_db
BOOKING: dict[str, Any] = {
    "day": "2026-03-01",
    "at": "2026-03-01T09:30:00Z",
    "price": "12.50",
    "seats": 2,
    "count": 3,
}


@pytest.fixture
def asked(owner: User) -> Ask:
    session = session_for(owner, Brain([call("book", "c1", **BOOKING)]))
    rules = {"rules": [{"operation": "book", "approval": "always", "may_edit": True}]}
    add_version(agent_id=session.agent_id, rules=rules, why="For the test", by=owner)
    say(session, owner)
    return open_asks(session)[0]


def edit(asked: Ask, owner: User, **change: Any) -> Any:
    return answer_ask(
        ask_id=asked.pk,
        by=owner,
        option="approve",
        echo=echo_of(asked),
        edited={**asked.gate.params, **change},
    )


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("count", 4.5, "whole number"),
        ("count", 4.0, "integer"),
        ("count", "4", "number"),
        ("count", 1e300, ""),
        ("day", "2026-02-30", "date"),
        ("day", "tomorrow", "date"),
        ("at", "2026-03-01 25:00", "datetime"),
        ("at", "noon", "datetime"),
        ("price", "12,50", "decimal"),
        ("price", "", "decimal"),
        ("seats", 3, "pairs"),
    ],
)
def test_what_the_tool_would_refuse_is_refused_and_the_field_named(
    asked: Ask, owner: User, effects: list[Any], field: str, value: Any, word: str
) -> None:
    refused = edit(asked, owner, **{field: value})
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.BAD_EDIT
    assert field in [flaw.path for flaw in refused.flaws]
    assert word in refused.detail
    assert not Verdict.objects.exists()
    asked.refresh_from_db()
    assert asked.status == AskStatus.OPEN
    carry_all()
    assert effects == []


@pytest.mark.parametrize(
    "change",
    [
        {"day": "2026-02-28"},
        {"at": "2026-03-01T09:30:00"},
        {"at": "2026-03-01T10:30:00+01:00"},
        {"price": "9.99"},
        {"seats": 4, "count": 1},
    ],
)
def test_what_is_accepted_is_called(
    asked: Ask, owner: User, effects: list[Any], change: dict[str, Any]
) -> None:
    """The tool takes a moment without a zone, which JSON Schema's format does not: the tool decides."""
    result = edit(asked, owner, **change)
    assert isinstance(result, Answered), result
    carry_all()
    assert [done[0] for done in effects] == ["book"]


def test_the_api_names_the_field(asked: Ask, owner: User) -> None:
    _, token = api_keys.create_key(name="k", scopes=["ask:answer"], person=owner)
    body = {
        "option": "approve",
        "binding": echo_of(asked),
        "edited": {**asked.gate.params, "day": "2026-02-30"},
    }
    answer = Caller(token).post(f"/api/asks/{asked.pk}/answer", body)
    assert answer.status == 422
    assert [error["field"] for error in answer.json["errors"]] == ["edited.day"]


def test_a_tool_that_is_gone_takes_no_other_call(asked: Ask, owner: User) -> None:
    settings = {**asked.agent.settings, "agent": "tests.eve.runtime.agents:no_such_agent"}
    type(asked.agent).objects.filter(pk=asked.agent_id).update(settings=settings)
    refused = edit(asked, owner, count=1)
    assert isinstance(refused, Refused)
    assert "cannot check this now" in refused.detail
