"""A key that may not answer and tries again and again: refused, and after a while not even kept."""

from __future__ import annotations

import pytest

from asks.models import LedgerRecord, Refusal
from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast
from workspace.accounts import api_keys
from workspace.accounts.throttling import MOST_REMEMBERED, Tries

pytestmark = pytest.mark.django_db


@pytest.mark.case("C71")
def test_an_agents_key_fills_neither_the_audit_nor_the_ledger(cast: Cast) -> None:
    ask = world.asked(cast.agent, world.approval())
    _, token = api_keys.create_key(name="own", scopes=("run:read", "ask:create"), agent=cast.agent)
    said = [Caller(token).post(f"/api/asks/{ask.pk}/answer", {"option": "yes"}) for _ in range(25)]
    assert [one.status for one in said] == [403] * 20 + [429] * 5
    assert said[-1].json["reason"] == "too_many_attempts"
    assert 1 <= int(said[-1].headers["Retry-After"]) <= 60
    assert Refusal.objects.count() == 20
    assert LedgerRecord.objects.filter(kind="refusal").count() == 20


def test_another_key_is_not_held_up(cast: Cast) -> None:
    ask = world.asked(cast.agent, world.approval())
    _, own = api_keys.create_key(name="own", scopes=("run:read",), agent=cast.agent)
    for _ in range(21):
        Caller(own).post(f"/api/asks/{ask.pk}/answer", {})
    body = {"option": "yes", "binding": world.echo_of(ask)}
    assert Caller(world.key_of(cast.owner)).post(f"/api/asks/{ask.pk}/answer", body).status == 200


def test_what_was_long_ago_does_not_count() -> None:
    now = [100.0]
    tries = Tries(2, 60.0, clock=lambda: now[0])
    assert [tries.wait("a") for _ in range(3)] == [0, 0, 60]
    now[0] += 59
    assert tries.wait("a") == 1
    now[0] += 1
    assert [tries.wait("a"), tries.wait("a")] == [0, 0]
    assert tries.wait("b") == 0


def test_it_remembers_no_more_than_so_many() -> None:
    tries = Tries(1, 60.0)
    assert tries.wait("first") == 0
    for number in range(MOST_REMEMBERED):
        tries.wait(number)
    assert tries.wait("first") == 0
