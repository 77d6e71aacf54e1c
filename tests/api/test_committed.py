"""A refusal over the API and its ledger record are committed together."""

from __future__ import annotations

import pytest

from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast
from tests.committed import check_refusals_are_on_record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return world.cast()


@pytest.mark.parametrize(("verb", "body"), [("answer", {"option": "eu"}), ("cancel", {})])
def test_an_unknown_ask(cast: Cast, as_owner: Caller, verb: str, body: dict[str, str]) -> None:
    assert as_owner.post(f"/api/asks/{10**12}/{verb}", body).status == 404
    check_refusals_are_on_record(1)


@pytest.mark.parametrize(("verb", "body"), [("answer", {"option": "eu"}), ("cancel", {})])
def test_a_foreign_ask(cast: Cast, as_stranger: Caller, verb: str, body: dict[str, str]) -> None:
    """Of a person who may not see it, and of a person's key that is tied to another agent."""
    ask = world.asked(cast.agent)
    assert as_stranger.post(f"/api/asks/{ask.pk}/{verb}", body).status == 404
    tied = Caller(world.key_of(cast.owner, world.agent_of(cast.owner)))
    assert tied.post(f"/api/asks/{ask.pk}/{verb}", body).status == 404
    check_refusals_are_on_record(2)


@pytest.mark.parametrize(("verb", "body"), [("answer", {"option": "us"}), ("cancel", {})])
def test_a_closed_ask(cast: Cast, as_owner: Caller, verb: str, body: dict[str, str]) -> None:
    ask = world.asked(cast.agent)
    assert as_owner.post(f"/api/asks/{ask.pk}/answer", {"option": "eu"}).status == 200
    assert as_owner.post(f"/api/asks/{ask.pk}/{verb}", body).status == 409
    check_refusals_are_on_record(1)


def test_a_key_of_an_agent(cast: Cast, as_agent: Caller) -> None:
    ask = world.asked(cast.agent)
    assert as_agent.post(f"/api/asks/{ask.pk}/answer", {"option": "eu"}).status == 403
    assert as_agent.post(f"/api/asks/{10**12}/answer", {"option": "eu"}).status == 403
    check_refusals_are_on_record(2)
