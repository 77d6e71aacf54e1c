"""A key that may not answer and tries again and again: refused, and after a while not even kept."""

from __future__ import annotations

import threading
from datetime import timedelta

import pgtrigger
import pytest
from django.db.models import F

from asks.models import LedgerRecord, Refusal
from tests.api import world
from tests.api.calling import Caller
from tests.api.world import Cast
from tests.races.racing import Beside, race
from workspace.accounts import api_keys
from workspace.accounts.throttling import MAX_ATTEMPTS
from workspace.api.attempts import record_attempt

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


def test_what_was_long_ago_does_not_count(cast: Cast) -> None:
    key, _ = api_keys.create_key(name="own", scopes=("run:read",), agent=cast.agent)
    for _ in range(MAX_ATTEMPTS):
        assert record_attempt(key, 0, "no") == 0
    assert 30 < record_attempt(key, 0, "no") <= 60  # the attempts themselves take a moment
    pass_seconds(30)
    assert 0 < record_attempt(key, 0, "no") <= 30
    pass_seconds(30)
    assert record_attempt(key, 0, "no") == 0


def pass_seconds(seconds: float) -> None:
    """Move the ledger into the past."""
    with pgtrigger.ignore():
        LedgerRecord.objects.update(at=F("at") - timedelta(seconds=seconds))


@pytest.mark.django_db(transaction=True)
def test_web_processes_count_together(cast: Cast) -> None:
    """Several connections try at once, each far more often than all of them may."""
    key, _ = api_keys.create_key(name="own", scopes=("run:read",), agent=cast.agent)
    ask = world.asked(cast.agent, world.approval())
    start = threading.Barrier(3)

    def attempt() -> int:
        start.wait(60)
        return sum(record_attempt(key, ask.pk, "no") == 0 for _ in range(MAX_ATTEMPTS + 5))

    processes = [Beside(attempt) for _ in range(3)]
    assert sum(process.result() for process in processes) == MAX_ATTEMPTS
    assert Refusal.objects.count() == MAX_ATTEMPTS


@pytest.mark.django_db(transaction=True)
def test_an_attempt_waits_for_one_of_the_same_key(cast: Cast) -> None:
    key, _ = api_keys.create_key(name="own", scopes=("run:read",), agent=cast.agent)
    for _ in range(MAX_ATTEMPTS - 1):
        record_attempt(key, 0, "no")
    waits = race(lambda: record_attempt(key, 0, "no"), lambda: record_attempt(key, 0, "no"))
    assert waits.first == 0
    assert waits.second > 0
