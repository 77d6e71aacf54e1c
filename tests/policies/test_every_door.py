"""One rule for all doors: whatever a policy refuses is refused on the page, over the API, by signature
and in the admin, to the owner, the colleague, the stranger and the agent's own key alike.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.models import Agent, Session
from asks import claiming
from asks.answering import answer_ask
from asks.drafts import ActionDraft
from asks.lifecycle import HTTP_STATUS, AskStatus, Reason
from asks.models import Ask, Grant, Refusal, Verdict, Vote
from tests.channel.signing import Channel
from tests.factories import REFUND, echo_of
from tests.policies import doors
from tests.policies.doors import Tried
from tests.policies.world import Rules, asked, group_of, in_force, refund

pytestmark = pytest.mark.django_db
Door = Callable[..., Tried]
DOORS = ["page", "api", "signed"]
needs_keygen = pytest.mark.skipif(
    not shutil.which("ssh-keygen") and not os.environ.get("CI"), reason="needs ssh-keygen"
)


@pytest.fixture
def door(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Door:
    name = request.param
    if name != "signed":
        found: Door = getattr(doors, name)
        return found
    channel = Channel(tmp_path)
    settings.SIGNED_CHANNEL = str(channel.folder)
    settings.SIGNED_CHANNEL_ALLOWED_SIGNERS = str(channel.allowed)
    return doors.signed(channel)


def through(name: str) -> object:
    return pytest.param(name, marks=needs_keygen) if name == "signed" else name


every_door = pytest.mark.parametrize("door", [through(name) for name in DOORS], indirect=True)


def action(request: pytest.FixtureRequest) -> ActionDraft:
    """The signed channel decides only what moves value; the other doors only the rest."""
    signed = "signed" in request.node.name
    return ActionDraft("refund", REFUND.params, money_critical=signed)


def assert_refused(tried: Tried, reason: Reason, by: User) -> None:
    assert tried.reason == reason
    assert tried.status in (0, HTTP_STATUS[reason])
    assert Refusal.objects.latest("pk").by == by


def assert_undecided(ask: Ask) -> None:
    ask.refresh_from_db()
    assert ask.status == AskStatus.OPEN
    assert not Verdict.objects.filter(ask=ask).exists()
    assert not Grant.objects.exists()


@every_door
@pytest.mark.case("C73")
def test_who_started_the_run(
    agent: Agent, session: Session, owner: User, colleague: User, door: Door,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    in_force(agent, refund(four_eyes="required"))
    ask = asked(session, action(request))
    assert_refused(door(ask, owner), Reason.FOUR_EYES, owner)
    assert_undecided(ask)
    assert door(ask, colleague).reason == ""
    assert Verdict.objects.get().decided_by == colleague


@every_door
@pytest.mark.case("C74", "C75")
def test_who_is_not_in_the_group_that_answers(
    agent: Agent, session: Session, owner: User, stranger: User, colleague: User, door: Door,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """The owner sees and does not answer; the stranger in the group answers; once out, not any more."""
    group = group_of("finance", stranger)
    in_force(agent, refund(answered_by="group:finance"))
    ask = asked(session, action(request))
    assert_refused(door(ask, owner), Reason.NOT_ALLOWED, owner)
    group.user_set.clear()
    assert_refused(door(ask, stranger), Reason.NOT_FOUND, stranger)
    assert_undecided(ask)
    group.user_set.add(stranger)
    assert door(ask, stranger).reason == ""
    assert Verdict.objects.get().decided_by == stranger


@every_door
def test_a_stranger(
    agent: Agent, session: Session, stranger: User, door: Door, request: pytest.FixtureRequest
) -> None:
    in_force(agent, refund())
    ask = asked(session, action(request))
    assert_refused(door(ask, stranger), Reason.NOT_FOUND, stranger)
    assert_undecided(ask)


@pytest.mark.parametrize("door", ["page", "api"], indirect=True)
def test_what_somebody_else_has_claimed(
    agent: Agent, session: Session, owner: User, colleague: User, door: Door
) -> None:
    ask = asked(session)
    claiming.claim_ask(ask_id=ask.pk, by=colleague)
    assert_refused(door(ask, owner), Reason.CLAIMED, owner)
    assert_undecided(ask)
    assert door(ask, colleague).reason == ""


@pytest.mark.parametrize("door", ["page", "api"], indirect=True)
def test_a_destructive_answer_without_a_reason(
    agent: Agent, session: Session, owner: User, door: Door
) -> None:
    in_force(agent, refund(reason_for=["danger"]))
    ask = asked(session)
    assert_refused(door(ask, owner, option="deny"), Reason.REASON_REQUIRED, owner)
    assert Refusal.objects.latest("pk").detail == "Say why you choose “Reject”."
    assert_undecided(ask)
    assert door(ask, owner, option="deny", text="Not this customer.").reason == ""
    assert Verdict.objects.get().text == "Not this customer."


def test_a_sensitive_answer_by_a_key(agent: Agent, session: Session, owner: User) -> None:
    """A key says nothing of when its holder proved who they are; signing in does."""
    in_force(agent, refund(reauthenticate_within=5))
    ask = asked(session)
    assert_refused(doors.api(ask, owner), Reason.REAUTHENTICATE, owner)
    assert_undecided(ask)
    assert doors.page(ask, owner).reason == ""


@needs_keygen
@pytest.mark.parametrize("door", ["signed"], indirect=True)
def test_a_signature_is_proof_enough(
    agent: Agent, session: Session, owner: User, door: Door
) -> None:
    in_force(agent, refund(money_critical=True, reauthenticate_within=5, reason_for=["deny"]))
    ask = asked(session)
    assert door(ask, owner, option="deny").reason == ""
    assert Verdict.objects.get().meaning == "deny"


@every_door
def test_a_vote_is_a_vote_through_every_door(
    agent: Agent, session: Session, owner: User, colleague: User, door: Door,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    in_force(agent, refund(quorum=2))
    ask = asked(session, action(request))
    assert door(ask, owner).reason == ""
    assert_undecided(ask)
    assert Vote.objects.get().voter == owner
    assert_refused(door(ask, owner, option="deny"), Reason.VOTED, owner)
    assert_undecided(ask)
    assert door(ask, colleague).reason == ""
    assert Verdict.objects.get().decided_by == colleague


RULES: list[Rules] = [
    refund(),
    refund(four_eyes="required"),
    refund(quorum=2),
    refund(money_critical=True),
    refund(reauthenticate_within=5),
]


@pytest.mark.case("C73", "C79")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("who", ["owner", "colleague", "stranger"])
def test_the_admin_decides_nothing_whoever_asks_it(
    agent: Agent, session: Session, who: str, rule: Rules, request: pytest.FixtureRequest
) -> None:
    in_force(agent, rule)
    ask = asked(session)
    assert doors.admin(ask, request.getfixturevalue(who)).status == 403
    assert_undecided(ask)
    assert not Vote.objects.exists()


@pytest.mark.parametrize("rule", RULES)
def test_the_agents_own_key_decides_nothing(agent: Agent, session: Session, rule: Rules) -> None:
    in_force(agent, rule)
    ask = asked(session)
    tried = doors.agents_key(ask)
    assert (tried.status, tried.reason) == (403, Reason.NOT_ALLOWED)
    assert "Attempted self-approval" in Refusal.objects.latest("pk").detail
    assert_undecided(ask)
    assert not Vote.objects.exists()


@pytest.mark.case("C79")
@pytest.mark.parametrize("door", ["page", "api"], indirect=True)
@pytest.mark.parametrize("who", ["owner", "colleague"])
def test_what_moves_value_is_gated_on_every_other_door(
    agent: Agent, session: Session, who: str, door: Door, request: pytest.FixtureRequest
) -> None:
    person = request.getfixturevalue(who)
    in_force(agent, refund(money_critical=True))
    ask = asked(session)
    assert_refused(door(ask, person), Reason.GATED, person)
    assert_undecided(ask)


def test_an_answer_given_straight_to_the_verb_is_no_way_around(
    agent: Agent, session: Session, owner: User
) -> None:
    in_force(agent, refund(reauthenticate_within=5))
    ask = asked(session)
    result = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask), via="email")
    assert result.reason == Reason.REAUTHENTICATE  # type: ignore[union-attr]
