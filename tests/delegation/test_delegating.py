"""Somebody answers in somebody else's name, from and until a time, for a reason; and it is seen."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pgtrigger
import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.test import Client
from django.utils import timezone

from agents.db.expressions import database_now
from agents.models import Agent, Session
from asks import access
from asks.answering import Answered, answer_ask
from asks.delegation import create_delegation, revoke_delegation
from asks.lifecycle import Reason
from asks.models import Ask, Delegation, LedgerRecord
from asks.queue import queries
from asks.refusals import Refused
from tests.factories import AgentFactory, AskFactory, UserFactory, home_of
from tests.pages.html import read
from tests.policies.world import asked, group_of, in_force, refund

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def ask(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def give(by: User, to: User, **more: Any) -> Delegation:
    return create_delegation(
        by=by, to=to, **{"ends_at": database_now() + DAY, "reason": "On leave.", **more}
    )


def may(person: User, ask: Ask) -> bool:
    """Asked of the one rule, the queue, the badge and the answer alike."""
    allowed = access.may_answer(person, ask)
    assert [one.pk for one in queries.open_asks(person)] == ([ask.pk] if allowed else [])
    assert queries.count_badge(person) == allowed
    assert access.asks_of(person).filter(pk=ask.pk).exists() == access.may_see(person, ask)
    return allowed


def reply(ask: Ask, by: User) -> object:
    return answer_ask(ask_id=ask.pk, by=by, option="eu")


def test_a_delegate_answers_in_the_name_of_who_delegated(
    ask: Ask, owner: User, stranger: User
) -> None:
    assert not may(stranger, ask)
    give(owner, stranger)
    assert may(stranger, ask)
    result = reply(ask, stranger)
    assert isinstance(result, Answered)
    assert (result.verdict.decided_by, result.verdict.on_behalf_of) == (stranger, owner)
    assert f'"on_behalf_of":{owner.pk}' in LedgerRecord.objects.get(kind="verdict").body


def test_an_owner_answers_in_their_own_name(ask: Ask, owner: User, colleague: User) -> None:
    give(owner, colleague)
    result = reply(ask, colleague)
    assert isinstance(result, Answered)
    assert result.verdict.on_behalf_of is None


@pytest.mark.parametrize(
    "change",
    [
        {"future": True},
        {"past": True},
        {"revoked": True},
        {"delegator_gone": True},
        {"no_owner": True},
    ],
)
def test_one_that_does_not_stand_gives_nothing(
    ask: Ask, owner: User, stranger: User, change: dict[str, bool]
) -> None:
    made = give(owner, stranger)
    assert may(stranger, ask)
    now = database_now()
    with pgtrigger.ignore("asks.Delegation:delegations_never_change"):
        if change.get("future"):
            Delegation.objects.update(starts_at=now + DAY / 2)
        if change.get("past"):
            Delegation.objects.update(starts_at=now - DAY, ends_at=now)
    if change.get("revoked"):
        assert revoke_delegation(delegation_id=made.pk, by=owner)
    if change.get("delegator_gone"):
        User.objects.filter(pk=owner.pk).update(is_active=False)
    if change.get("no_owner"):
        ask.agent.owners.remove(owner)
    assert not may(stranger, ask)
    refused = reply(ask, stranger)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.NOT_FOUND


def test_one_for_an_agent_is_for_that_agent(
    ask: Ask, agent: Agent, owner: User, stranger: User
) -> None:
    other = AgentFactory(owners=[owner])
    elsewhere = AskFactory(session=home_of(other))
    give(owner, stranger, agent=agent)
    assert access.may_answer(stranger, ask)
    assert not access.may_answer(stranger, elsewhere)
    assert [one.pk for one in queries.open_asks(stranger)] == [ask.pk]


def test_what_was_delegated_is_not_passed_on(ask: Ask, owner: User, stranger: User) -> None:
    third = UserFactory(username="thea")
    give(owner, stranger)
    give(stranger, third)
    assert not may(third, ask)


def test_a_member_of_the_group_delegates_its_asks(
    agent: Agent, session: Session, owner: User, stranger: User
) -> None:
    member = UserFactory(username="fiona")
    group_of("finance", member)
    in_force(agent, refund(answered_by="group:finance"))
    ask = asked(session)
    give(owner, stranger)
    assert not may(stranger, ask), "the owner may not answer it, so nor may who answers for them"
    give(member, stranger)
    assert may(stranger, ask)


def test_votes_in_one_name_count_once(
    agent: Agent, session: Session, owner: User, colleague: User, stranger: User
) -> None:
    from asks.answering import Voted
    from tests.factories import echo_of

    in_force(agent, refund(quorum=2))
    ask = asked(session)
    give(owner, stranger)
    first = answer_ask(ask_id=ask.pk, by=stranger, option="approve", echo=echo_of(ask))
    assert isinstance(first, Voted)
    assert first.vote.principal == owner
    again = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    assert isinstance(again, Refused)
    assert again.reason == Reason.VOTED
    assert isinstance(
        answer_ask(ask_id=ask.pk, by=colleague, option="approve", echo=echo_of(ask)), Answered
    )


def test_two_names_are_two_votes_but_one_person_has_one(
    agent: Agent, session: Session, owner: User, colleague: User, stranger: User
) -> None:
    from tests.factories import echo_of

    in_force(agent, refund(quorum=2))
    ask = asked(session)
    give(owner, stranger)
    give(colleague, stranger)
    answer_ask(ask_id=ask.pk, by=stranger, option="approve", echo=echo_of(ask))
    again = answer_ask(ask_id=ask.pk, by=stranger, option="deny", echo=echo_of(ask))
    assert isinstance(again, Refused)
    assert again.reason == Reason.VOTED


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"reason": " "}, "reason"),
        ({"reason": "x" * 1001}, "reason"),
        ({"reason": "\0"}, "reason"),
        ({"ends_at": timezone.now() - DAY}, "ends_at"),
        ({"starts_at": timezone.now() + 2 * DAY}, "ends_at"),
        ({"ends_at": timezone.now() + 400 * DAY}, "ends_at"),
    ],
)
def test_what_is_no_delegation(
    owner: User, stranger: User, wrong: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        give(owner, stranger, **wrong)
    assert list(refused.value.message_dict) == [field]
    assert not Delegation.objects.exists()


def test_nobody_delegates_to_themselves_or_to_nobody(owner: User, stranger: User) -> None:
    stranger.is_active = False
    stranger.save()
    for nobody in (owner, stranger):
        with pytest.raises(ValidationError):
            give(owner, nobody)


def test_it_is_written_down_and_stays(owner: User, stranger: User) -> None:
    made = give(owner, stranger)
    assert revoke_delegation(delegation_id=made.pk, by=stranger)
    assert not revoke_delegation(delegation_id=made.pk, by=owner)
    kinds = LedgerRecord.objects.filter(chain="workspace:delegation").order_by("seq")
    assert list(kinds.values_list("kind", "actor")) == [
        ("delegated", "human:olga"),
        ("delegation_revoked", "human:sam"),
    ]
    for change in (
        lambda: Delegation.objects.update(ends_at=database_now() + 2 * DAY),
        lambda: Delegation.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_a_third_person_ends_nothing(owner: User, colleague: User, stranger: User) -> None:
    made = give(owner, stranger)
    assert not revoke_delegation(delegation_id=made.pk, by=colleague)
    client = Client()
    client.force_login(colleague)
    assert client.post(f"/delegations/{made.pk}/revoke").status_code == 404


class TestPages:
    @pytest.fixture
    def as_owner(self, owner: User) -> Client:
        client = Client()
        client.force_login(owner)
        return client

    @pytest.fixture
    def as_stranger(self, stranger: User) -> Client:
        client = Client()
        client.force_login(stranger)
        return client

    def test_it_is_given_and_ended_on_a_page(
        self, as_owner: Client, as_stranger: Client, ask: Ask
    ) -> None:
        until = (timezone.now() + DAY).date().isoformat()
        form = {"to": "sam", "ends_on": until, "zone": "Europe/Berlin", "reason": "On leave."}
        assert as_owner.post("/delegations/", form).status_code == 302
        page = read(as_stranger.get("/delegations/").content)
        assert "olga" in page.words
        assert "On leave." in page.words
        card = read(as_stranger.get("/").content).one("article", id=f"ask-{ask.pk}")
        assert "You are answering for olga until" in card.words
        alone = read(as_stranger.get(f"/asks/{ask.pk}/").content)
        assert "You are answering for olga until" in alone.words
        made = Delegation.objects.get()
        assert as_stranger.post(f"/delegations/{made.pk}/revoke").status_code == 302
        assert as_stranger.get(f"/asks/{ask.pk}/").status_code == 404

    @pytest.mark.usefixtures("ask")
    def test_the_card_of_an_owner_says_nothing_of_it(self, as_owner: Client) -> None:
        assert "You are answering for" not in read(as_owner.get("/").content).words

    @pytest.mark.usefixtures("ask")
    def test_remembered_cards_do_not_mix_names(
        self, as_owner: Client, as_stranger: Client, owner: User, stranger: User
    ) -> None:
        give(owner, stranger)
        for _ in range(2):
            assert "You are answering for olga" in read(as_stranger.get("/").content).words
            assert "You are answering for" not in read(as_owner.get("/").content).words

    def test_an_answer_in_another_name_says_so(
        self, as_stranger: Client, ask: Ask, owner: User, stranger: User
    ) -> None:
        give(owner, stranger)
        response = as_stranger.post(
            f"/asks/{ask.pk}/answer", {"option": "eu"}, headers={"HX-Request": "true"}
        )
        assert response.status_code == 200
        assert "sam for olga answered EU ledger" in read(response.content).words

    @pytest.mark.parametrize(
        "wrong",
        [
            {"to": "nobody"},
            {"zone": "Mars"},
            {"zone": "../etc"},
            {"ends_on": "1999-01-01"},
            {"ends_on": ""},
            {"reason": ""},
        ],
    )
    @pytest.mark.usefixtures("stranger")
    def test_a_form_that_is_wrong_says_where(self, as_owner: Client, wrong: dict[str, str]) -> None:
        until = (timezone.now() + DAY).date().isoformat()
        form = {"to": "sam", "ends_on": until, "zone": "UTC", "reason": "On leave."} | wrong
        response = as_owner.post("/delegations/", form)
        assert response.status_code == 422
        assert read(response.content).all("span", class_="error")
        assert not Delegation.objects.exists()

    @pytest.mark.usefixtures("stranger")
    def test_a_name_in_another_case_is_suggested(self, as_owner: Client) -> None:
        until = (timezone.now() + DAY).date().isoformat()
        form = {"to": "Sam", "ends_on": until, "zone": "UTC", "reason": "On leave."}
        response = as_owner.post("/delegations/", form)
        assert "No user is called “Sam”. Did you mean sam?" in read(response.content).words
        assert not Delegation.objects.exists()
