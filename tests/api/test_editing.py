"""Approving a changed call over the API."""

from __future__ import annotations

import pytest

from asks.models import Ask, Grant, Refusal
from tests.api import world
from tests.api.calling import Answer, Caller
from tests.api.world import Cast
from tests.policies.world import in_force, refund

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(cast: Cast) -> Ask:
    in_force(cast.agent, refund(may_edit=True))
    return world.asked(cast.agent, world.approval())


def approve(caller: Caller, ask: Ask, edited: object) -> Answer:
    body = {"option": "yes", "binding": world.echo_of(ask), "edited": edited}
    return caller.post(f"/api/asks/{ask.pk}/answer", body)


def test_the_changed_call_is_approved_and_told(ask: Ask, as_owner: Caller) -> None:
    assert as_owner.get(f"/api/asks/{ask.pk}").json["action"]["may_edit"] is True
    said = approve(as_owner, ask, {"order": 1182, "amount": 12.5})
    assert said.status == 200, said.json
    assert said.json["ask"]["verdict"]["edited"] == {"order": 1182, "amount": 12.5}
    assert said.json["ask"]["action"]["params"] == {"order": 1182, "amount": 48}
    assert Grant.objects.get().params == {"order": 1182, "amount": 12.5}
    assert approve(as_owner, ask, {"order": 1182, "amount": 12.5}).json["repeated"] is True


def test_a_wrong_change_is_refused_with_the_field(ask: Ask, as_owner: Caller) -> None:
    said = approve(as_owner, ask, {"order": 1182, "amount": "lots", "more": 1})
    assert (said.status, said.json["reason"]) == (422, "bad_edit")
    assert said.json["errors"] == [
        {"field": "edited.amount", "where": "body", "detail": "It must be a number."},
        {"field": "edited.more", "where": "body", "detail": "The agent did not send this value."},
    ]
    assert '"lots"' in Refusal.objects.get().submitted["edited"]
    assert Ask.objects.get(pk=ask.pk).status == "open"


def test_without_the_policy_s_leave_nothing_is_changed(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.approval())
    said = approve(as_owner, ask, {"order": 1182, "amount": 1})
    assert (said.status, said.json["reason"]) == (403, "not_editable")
    assert not Grant.objects.exists()
