"""Claiming an ask in a team: one has it, the others are told who, and it can be given up."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from agents.models import Agent, Session
from asks.answering import Answered, answer_ask
from asks.claiming import claim_ask, release_ask
from asks.lifecycle import Reason
from asks.models import Ask, Refusal
from asks.refusals import Refused
from tests.factories import AgentFactory, AskFactory, home_of, verdict_on
from tests.pages.html import read
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ask(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def holder(ask: Ask) -> User | None:
    ask.refresh_from_db()
    return ask.claimed_by


@pytest.mark.case("C49")
def test_the_second_is_told_who_has_it(ask: Ask, owner: User, colleague: User) -> None:
    assert isinstance(claim_ask(ask_id=ask.pk, by=owner), Ask)
    refused = claim_ask(ask_id=ask.pk, by=colleague)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.http_status) == (Reason.CLAIMED, 409)
    assert refused.detail == "This question is claimed by olga."
    assert holder(ask) == owner
    assert ask.session.events.get(kind="claimed").actor == "human:olga"


def test_claiming_again_is_the_same_claim(ask: Ask, owner: User) -> None:
    claim_ask(ask_id=ask.pk, by=owner)
    since = Ask.objects.get(pk=ask.pk).claimed_at
    assert isinstance(claim_ask(ask_id=ask.pk, by=owner), Ask)
    assert Ask.objects.get(pk=ask.pk).claimed_at == since


def test_others_do_not_answer_what_is_claimed(ask: Ask, owner: User, colleague: User) -> None:
    claim_ask(ask_id=ask.pk, by=owner)
    refused = answer_ask(ask_id=ask.pk, by=colleague, option="eu")
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.CLAIMED
    assert isinstance(answer_ask(ask_id=ask.pk, by=owner, option="eu"), Answered)


def test_it_can_be_given_up_and_taken_over(ask: Ask, owner: User, colleague: User) -> None:
    claim_ask(ask_id=ask.pk, by=owner)
    assert isinstance(claim_ask(ask_id=ask.pk, by=colleague, take_over=True), Ask)
    assert holder(ask) == colleague
    assert isinstance(release_ask(ask_id=ask.pk, by=owner), Ask)
    assert holder(ask) is None
    assert isinstance(release_ask(ask_id=ask.pk, by=owner), Ask)
    assert ask.session.events.filter(kind="claimed").count() == 3
    verdict_on(ask, owner)


def test_who_may_not_answer_does_not_claim(
    agent: Agent, session: Session, owner: User, colleague: User, stranger: User
) -> None:
    in_force(agent, refund(four_eyes="required"))
    barred = asked(session)
    for verb in (claim_ask, release_ask):
        tried = verb(ask_id=barred.pk, by=owner)
        assert isinstance(tried, Refused)
        assert tried.reason == Reason.FOUR_EYES
        tried = verb(ask_id=barred.pk, by=stranger)
        assert isinstance(tried, Refused)
        assert tried.reason == Reason.NOT_FOUND
    assert Refusal.objects.count() == 4
    assert holder(barred) is None


def test_what_several_decide_nobody_claims(agent: Agent, session: Session, owner: User) -> None:
    in_force(agent, refund(quorum=2))
    tried = claim_ask(ask_id=asked(session).pk, by=owner)
    assert isinstance(tried, Refused)
    assert tried.detail == "Several people decide this, so nobody claims it."


def test_what_is_over_is_not_claimed(ask: Ask, owner: User, colleague: User) -> None:
    verdict_on(ask, owner)
    tried = claim_ask(ask_id=ask.pk, by=colleague)
    assert isinstance(tried, Refused)
    assert tried.reason == Reason.CLOSED


def test_a_claim_has_a_time(ask: Ask, owner: User) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Ask.objects.filter(pk=ask.pk).update(claimed_by=owner)


def test_the_card_shows_it_and_changes_with_it(ask: Ask, owner: User, colleague: User) -> None:
    client = Client()
    client.force_login(owner)
    page = read(client.get("/").content)
    form = page.one("form", action=f"/asks/{ask.pk}/claim")
    response = client.post(f"/asks/{ask.pk}/claim", form.fields(), headers=HTMX)
    assert "Claimed by olga" in read(response.content).one("article", id=f"ask-{ask.pk}").words
    other = Client()
    other.force_login(colleague)
    card = read(other.get("/").content).one("article", id=f"ask-{ask.pk}")
    assert "Claimed by olga" in card.words
    tried = other.post(f"/asks/{ask.pk}/answer", {"option": "eu", "text": "my words"}, headers=HTMX)
    assert tried.status_code == 409
    assert "claimed by olga" in read(tried.content).words
    take_over = card.all("form", action=f"/asks/{ask.pk}/claim")[0].fields()
    assert other.post(f"/asks/{ask.pk}/claim", take_over, headers=HTMX).status_code == 200
    assert "Claimed by carl" in read(client.get("/").content).words


def test_who_works_alone_is_not_offered_a_claim(owner: User) -> None:
    ask = AskFactory(session=home_of(AgentFactory(owners=[owner])))
    client = Client()
    client.force_login(owner)
    assert not read(client.get("/").content).all("form", action=f"/asks/{ask.pk}/claim")
