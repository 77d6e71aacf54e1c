"""Every refusal of an answer, over the API: its status, its reason, and that nothing was decided."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from agents.lifecycle import Outcome
from asks import answering, withdrawing
from asks.lifecycle import HTTP_STATUS, Reason
from asks.models import Ask, Refusal, Verdict
from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast

pytestmark = pytest.mark.django_db

Case = tuple[Ask | int, dict[str, Any]]


def _not_found(cast: Cast) -> Case:
    return 10**12, {"option": "eu"}


def _closed(cast: Cast) -> Case:
    ask = world.asked(cast.agent)
    answering.answer_ask(ask_id=ask.pk, by=cast.colleague, option="us")
    return ask, {"option": "eu"}


def _expired(cast: Cast) -> Case:
    ask = world.asked(cast.agent, world.approval(expires_in=timedelta(milliseconds=1)))
    return ask, {"option": "yes", "binding": world.echo_of(ask)}


def _gated(cast: Cast) -> Case:
    ask = world.asked(cast.agent, world.approval(money_critical=True))
    return ask, {"option": "yes", "binding": world.echo_of(ask)}


def _unbindable(cast: Cast) -> Case:
    return world.asked(cast.agent, world.approval()), {"option": "yes"}


def _stale(cast: Cast) -> Case:
    ask = world.asked(cast.agent, world.approval())
    seen = world.echo_of(ask)
    world.turn(cast.agent, outcome=Outcome.NO_WORK)
    return ask, {"option": "yes", "binding": seen}


def _invalid(cast: Cast) -> Case:
    return world.asked(cast.agent, world.words()), {"text": "half a character: \ud800"}


def _empty(cast: Cast) -> Case:
    return world.asked(cast.agent, world.words()), {"text": " \u200b\n"}


def _unknown_option(cast: Cast) -> Case:
    return world.asked(cast.agent), {"option": "mars"}


CASES: dict[Reason, Callable[[Cast], Case]] = {
    Reason.NOT_FOUND: _not_found,
    Reason.CLOSED: _closed,
    Reason.EXPIRED: _expired,
    Reason.GATED: _gated,
    Reason.UNBINDABLE: _unbindable,
    Reason.STALE: _stale,
    Reason.INVALID: _invalid,
    Reason.EMPTY: _empty,
    Reason.UNKNOWN_OPTION: _unknown_option,
}


@pytest.mark.parametrize("who", ["as_owner", "as_colleague"])
@pytest.mark.parametrize("reason", CASES)
def test_each_refusal_has_its_status_and_decides_nothing(
    cast: Cast, reason: Reason, who: str, request: pytest.FixtureRequest
) -> None:
    caller: Caller = request.getfixturevalue(who)
    ask, body = CASES[reason](cast)
    before = Verdict.objects.count()
    pk = ask.pk if isinstance(ask, Ask) else ask
    said = caller.post(f"/api/asks/{pk}/answer", body)
    assert (said.status, said.json["reason"]) == (HTTP_STATUS[reason], reason)
    assert said.headers["Content-Type"] == "application/problem+json"
    assert said.json["type"] == f"urn:needs-you:refusal:{reason}"
    assert said.json["status"] == said.status
    assert said.json["detail"]
    assert Verdict.objects.count() == before
    kept = Refusal.objects.latest("pk")
    person = cast.owner if who == "as_owner" else cast.colleague
    assert (kept.reason, kept.by, kept.via) == (reason, person, "api")


@pytest.mark.parametrize("reason", CASES)
def test_to_a_stranger_each_of_them_is_not_there(
    cast: Cast, as_stranger: Caller, reason: Reason
) -> None:
    ask, body = CASES[reason](cast)
    pk = ask.pk if isinstance(ask, Ask) else ask
    said = as_stranger.post(f"/api/asks/{pk}/answer", body)
    assert (said.status, said.json["reason"]) == (404, "not_found")
    assert "ask_status" not in said.json


@pytest.mark.parametrize("reason", CASES)
def test_to_an_agents_key_each_of_them_is_forbidden(
    cast: Cast, as_agent: Caller, reason: Reason
) -> None:
    ask, body = CASES[reason](cast)
    pk = ask.pk if isinstance(ask, Ask) else ask
    said = as_agent.post(f"/api/asks/{pk}/answer", body)
    assert (said.status, said.json["reason"]) == (403, "agents_never_answer")


def test_every_reason_is_tried() -> None:
    """But two: a key without the scope gets ``not_allowed`` kept, see test_asks, and no answer over
    the API carries a signature that could be ``unproven``. What only a policy refuses is tried on
    every door in tests/policies, changed calls in test_editing.
    """
    by_policy = {
        Reason.FOUR_EYES,
        Reason.CLAIMED,
        Reason.REAUTHENTICATE,
        Reason.VOTED,
        Reason.REASON_REQUIRED,
        Reason.NOT_EDITABLE,
        Reason.BAD_EDIT,
    }
    assert set(CASES) == set(Reason) - {Reason.NOT_ALLOWED, Reason.UNPROVEN} - by_policy


def test_a_stale_answer_names_what_is_asked_instead(cast: Cast, as_owner: Caller) -> None:
    ask, body = _stale(cast)
    assert isinstance(ask, Ask)
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", body)
    fresh = as_owner.get(f"/api/asks/{said.json['replaced_by']}").json
    assert fresh["status"] == "open"
    assert fresh["replaces"] == ask.pk
    assert fresh["binding"] != body["binding"]
    again = {"option": "yes", "binding": fresh["binding"]}
    assert as_owner.post(f"/api/asks/{fresh['id']}/answer", again).status == 200


def test_a_closed_ask_says_what_it_is_now(cast: Cast, as_owner: Caller) -> None:
    ask, body = _closed(cast)
    assert isinstance(ask, Ask)
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", body)
    assert said.json["ask_status"] == "answered"
    assert cast.colleague.username in said.json["detail"]


@pytest.mark.parametrize("missing", ["action_hash", "policy_version", "run_version"])
def test_a_part_of_a_binding_is_not_a_binding(cast: Cast, as_owner: Caller, missing: str) -> None:
    ask = world.asked(cast.agent, world.approval())
    binding = world.echo_of(ask)
    del binding[missing]
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", {"option": "yes", "binding": binding})
    assert (said.status, said.json["reason"]) == (428, "unbindable")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("action_hash", "v1:" + "0" * 64),
        ("action_hash", ""),
        ("policy_version", 99),
        ("policy_version", -1),
        ("policy_version", 10**30),
        ("run_version", "1.99"),
    ],
)
def test_another_binding_than_the_one_shown_is_refused(
    cast: Cast, as_owner: Caller, part: str, value: object
) -> None:
    ask = world.asked(cast.agent, world.approval())
    binding = {**world.echo_of(ask), part: value}
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", {"option": "yes", "binding": binding})
    assert said.status in (409, 428), said.json
    assert not Verdict.objects.exists()


def test_cancel_refuses_what_is_closed(cast: Cast, as_owner: Caller, as_stranger: Caller) -> None:
    ask, _ = _closed(cast)
    assert isinstance(ask, Ask)
    said = as_owner.post(f"/api/asks/{ask.pk}/cancel")
    assert (said.status, said.json["reason"]) == (409, "closed")
    assert as_stranger.post(f"/api/asks/{ask.pk}/cancel").status == 404


def test_cancel_by_another_owner_after_the_first_is_closed(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent)
    withdrawing.withdraw_ask(ask_id=ask.pk, by=cast.colleague)
    assert as_owner.post(f"/api/asks/{ask.pk}/cancel").status == 409


def test_a_refusal_is_kept_even_though_the_request_failed(cast: Cast, as_owner: Caller) -> None:
    ask, body = _gated(cast)
    assert isinstance(ask, Ask)
    as_owner.post(f"/api/asks/{ask.pk}/answer", body)
    assert not connection.needs_rollback
    assert Refusal.objects.get(ask=ask).submitted["option"] == "yes"
