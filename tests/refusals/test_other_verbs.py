"""What is done to an ask besides answering it is refused by the same rules, and as plainly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asks import claiming
from asks.deadlines import expiry
from asks.lifecycle import HTTP_STATUS, Reason
from asks.models import Ask, LedgerRecord, Refusal
from tests.api.calling import Caller
from tests.factories import REFUND, AgentFactory, UserFactory, echo_of, home_of, verdict_on
from tests.policies.world import asked
from tests.refusals.routes import token_of
from tests.refusals.situations import SITUATIONS, Scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene(owner: User, colleague: User, stranger: User) -> Scene:
    agent = AgentFactory(slug="ledger", owners=[owner])
    third = UserFactory(username="cleo")
    agent.owners.set([owner, colleague, third])
    return Scene(agent, home_of(agent), owner, colleague, third, stranger)


def _answered(scene: Scene, ask: Ask) -> None:
    verdict_on(ask, scene.third, option="deny", echo=echo_of(ask))


def _expired(_: Scene, ask: Ask) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=ask.opened_at)
    assert expiry.expire_due_asks() == 1


def _superseded(scene: Scene, ask: Ask) -> None:
    from asks.answering import answer_ask

    SITUATIONS[Reason.STALE].after(scene, ask)
    answer_ask(ask_id=ask.pk, by=scene.third, option="approve", echo=echo_of(ask))


def _claimed(scene: Scene, ask: Ask) -> None:
    claiming.claim_ask(ask_id=ask.pk, by=scene.third)


def _as_it_is(_: Scene, ask: Ask) -> None:
    del ask


@dataclass(frozen=True)
class Try:
    """A verb in a situation: what it is refused for, as an owner."""

    verb: str
    reason: Reason
    after: Callable[[Scene, Ask], object] = _as_it_is
    terms: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    before: Reason | None = None


WHY = {"reason": "No need."}
TRIES = [
    Try("withdraw", Reason.CLOSED, _answered, fields=WHY),
    Try("withdraw", Reason.EXPIRED, _expired, fields=WHY),
    Try("withdraw", Reason.STALE, _superseded, fields=WHY),
    Try("claim", Reason.NOT_ALLOWED, terms={"answered_by": "group:board"}),
    Try("claim", Reason.NOT_ALLOWED, terms={"quorum": 2}),
    Try("claim", Reason.FOUR_EYES, terms={"four_eyes": "required"}, before=Reason.FOUR_EYES),
    Try("claim", Reason.CLAIMED, _claimed),
    Try("claim", Reason.CLOSED, _answered),
    Try("claim", Reason.EXPIRED, _expired),
    Try("release", Reason.CLOSED, _answered),
    Try("release", Reason.EXPIRED, _expired),
    Try("extend", Reason.NOT_ALLOWED),
    Try("extend", Reason.CLOSED, _answered, {"expires_after": "P1D"}),
    Try("extend", Reason.EXPIRED, _expired, {"expires_after": "P1D"}),
    Try("drop", Reason.CLOSED, fields=WHY),
    Try("drop", Reason.CLOSED, _answered, fields=WHY),
    Try("drop", Reason.REASON_REQUIRED, _expired),
    Try("again", Reason.CLOSED),
    Try("again", Reason.CLOSED, _answered),
]
NAMES = [f"{one.verb}-{one.reason}-{one.after.__name__.strip('_')}" for one in TRIES]


def press(ask: Ask, by: User | None, verb: str, fields: dict[str, str]) -> tuple[int, str]:
    client = Client()
    if by is not None:
        client.force_login(by)
    said = client.post(f"/asks/{ask.pk}/{verb}", fields, headers={"HX-Request": "true"})
    return said.status_code, unescape(said.content.decode())


def row_of(ask: Ask) -> dict[str, Any]:
    return dict(Ask.objects.filter(pk=ask.pk).values().get())


@pytest.mark.case("C51", "C73", "C74")
@pytest.mark.parametrize("one", TRIES, ids=NAMES)
def test_refused(scene: Scene, one: Try) -> None:
    ask = _asked(scene, one)
    before = row_of(ask)
    for by in (scene.owner, scene.colleague):
        seen = Refusal.objects.count()
        status, words = press(ask, by, one.verb, one.fields)
        refusal = Refusal.objects.latest("pk")
        assert Refusal.objects.count() == seen + 1, (status, words)
        assert (refusal.reason, refusal.by, refusal.ask) == (one.reason, by, ask)
        assert status == HTTP_STATUS[one.reason]
        assert refusal.detail in words
        assert LedgerRecord.objects.filter(subject=f"refusal:{refusal.pk}").exists()
    assert row_of(ask) == before


@pytest.mark.case("C71", "C74")
@pytest.mark.parametrize("verb", ["withdraw", "claim", "release", "extend", "drop", "again"])
def test_a_stranger_finds_nothing_and_nobody_else_gets_in(scene: Scene, verb: str) -> None:
    ask = _asked(scene, Try(verb, Reason.NOT_FOUND))
    before = row_of(ask)
    assert press(ask, scene.stranger, verb, WHY)[0] == 404
    refusal = Refusal.objects.get()
    assert (refusal.reason, refusal.by) == (Reason.NOT_FOUND, scene.stranger)
    assert press(ask, None, verb, WHY)[0] in {401, 403}
    assert Refusal.objects.count() == 1
    assert row_of(ask) == before


@pytest.mark.case("C71")
@pytest.mark.parametrize("who", ["stranger", None])
def test_over_the_api_neither_a_stranger_nor_the_agent_takes_it_back(
    scene: Scene, who: str | None
) -> None:
    ask = _asked(scene, Try("cancel", Reason.NOT_FOUND))
    before = row_of(ask)
    by = getattr(scene, who) if who else None
    said = Caller(token_of(scene, by)).post(f"/api/asks/{ask.pk}/cancel", WHY)
    assert said.status == (404 if who else 403)
    assert Refusal.objects.get().reason == (Reason.NOT_FOUND if who else Reason.NOT_ALLOWED)
    assert row_of(ask) == before


@pytest.mark.parametrize(
    "one", [one for one in TRIES if one.verb == "withdraw"], ids=lambda one: str(one.reason)
)
def test_over_the_api_it_is_refused_for_the_same_reasons(scene: Scene, one: Try) -> None:
    ask = _asked(scene, one)
    before = row_of(ask)
    said = Caller(token_of(scene, scene.owner)).post(f"/api/asks/{ask.pk}/cancel", WHY)
    assert (said.status, said.json["reason"]) == (HTTP_STATUS[one.reason], one.reason)
    assert row_of(ask) == before


def _asked(scene: Scene, one: Try) -> Ask:
    situation = SITUATIONS[one.before] if one.before else SITUATIONS[Reason.NOT_FOUND]
    replace(situation, terms=one.terms).prepare(scene, "refund")
    ask = asked(scene.session, REFUND)
    one.after(scene, ask)
    return Ask.objects.get(pk=ask.pk)
