"""What waits too long is escalated, once; and where the policy says so, those people may answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client

from agents.db.expressions import database_now
from agents.models import Agent, Session
from asks import access
from asks.answering import Answered, answer_ask
from asks.deadlines.nudges import send_due_nudges
from asks.lifecycle import Reason
from asks.models import Ask, LedgerRecord, Nudge
from asks.policies import versions
from asks.queue import queries
from asks.refusals import Refused
from tests.factories import UserFactory, echo_of, verdict_on
from tests.pages.html import read
from tests.policies.world import asked, group_of, in_force, refund
from workspace.models import OutboxItem

pytestmark = pytest.mark.django_db
ESCALATED: dict[str, Any] = {"escalate_after": "PT3H", "escalate_to": "group:board"}
ADMITTED = {**ESCALATED, "escalated_may_answer": True}


@pytest.fixture
def member() -> User:
    person = UserFactory(username="bea")
    group_of("board", person)
    return person


def waits_too_long(ask: Ask) -> None:
    Nudge.objects.filter(ask=ask, kind="escalation").update(due_at=database_now())
    assert send_due_nudges() == 1
    ask.refresh_from_db()


@pytest.fixture
def ask(agent: Agent, session: Session, member: User) -> Ask:
    del member
    in_force(agent, refund(), **ADMITTED)
    return asked(session)


def answered_by(ask: Ask, person: User) -> object:
    return answer_ask(ask_id=ask.pk, by=person, option="approve", echo=echo_of(ask))


def test_before_it_they_see_and_answer_nothing(ask: Ask, member: User) -> None:
    refused = answered_by(ask, member)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.NOT_FOUND
    assert list(queries.needs_you(member).asks) == []


def test_after_it_they_may_answer_as_well_as_the_owners(
    ask: Ask, session: Session, member: User, owner: User
) -> None:
    waits_too_long(ask)
    assert list(queries.needs_you(member).asks) == [ask]
    assert list(queries.needs_you(owner).asks) == [ask]
    assert access.may_answer(owner, ask)
    said = session.events.get(kind="reminded").text
    assert said.endswith("It has been escalated to group:board. They may answer it too.")
    assert isinstance(answered_by(ask, member), Answered)


def test_it_is_done_once_and_told_once(ask: Ask, session: Session) -> None:
    waits_too_long(ask)
    Nudge.objects.update(due_at=database_now())
    assert send_due_nudges() == 0
    assert session.events.filter(kind="reminded").count() == 1
    assert OutboxItem.objects.filter(kind="ask.reminded").count() == 1
    record = LedgerRecord.objects.get(kind="escalated")
    assert (record.subject, record.chain) == (f"ask:{ask.pk}", f"session:{session.pk}")


def test_it_is_scheduled_in_the_transaction_that_asks(ask: Ask) -> None:
    nudge = ask.nudges.get()
    assert (nudge.kind, nudge.to, nudge.said_at) == ("escalation", "group:board", None)
    assert (nudge.due_at - ask.opened_at).total_seconds() == 3 * 3600


def test_the_policy_must_say_that_they_may(agent: Agent, session: Session, member: User) -> None:
    in_force(agent, refund(), **ESCALATED)
    ask = asked(session)
    waits_too_long(ask)
    assert ask.escalated_to is None
    assert not access.may_see(member, ask)


@pytest.mark.parametrize("to", ["owners", None])
def test_a_policy_admits_a_group_only(agent: Agent, owner: User, to: str | None) -> None:
    terms = {"escalate_after": "PT1H", "escalated_may_answer": True}
    rules = {"terms": {**terms, **({"escalate_to": to} if to else {})}}
    with pytest.raises(ValidationError):
        versions.add_version(agent_id=agent.pk, rules=rules, why="x", by=owner)


def test_four_eyes_hold_for_them_too(agent: Agent, session: Session, owner: User) -> None:
    group_of("board", owner)
    in_force(agent, refund(), four_eyes="required", **ADMITTED)
    ask = asked(session)
    waits_too_long(ask)
    refused = answered_by(ask, owner)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.FOUR_EYES


def test_a_group_that_is_gone_is_no_reason_not_to_say_it(
    agent: Agent, session: Session, member: User
) -> None:
    in_force(agent, refund(), **ADMITTED)
    ask = asked(session)
    group = member.groups.get()
    group.name = "the board"
    group.save()
    waits_too_long(ask)
    assert ask.escalated_to is None
    assert session.events.filter(kind="reminded").exists()


def test_what_they_decide_is_in_the_ledger_with_the_escalation(ask: Ask, member: User) -> None:
    waits_too_long(ask)
    verdict_on(ask, member, option="approve")
    body = LedgerRecord.objects.get(kind="verdict").body
    assert f'"escalated_to":{ask.escalated_to_id}' in body


@pytest.mark.parametrize("admitted", [True, False])
def test_what_is_asked_in_its_place_is_escalated_if_the_policy_still_says_so(
    ask: Ask, agent: Agent, member: User, owner: User, admitted: bool
) -> None:
    waits_too_long(ask)
    echo = echo_of(ask)
    in_force(agent, refund(), **(ADMITTED if admitted else {}))
    late = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo)
    assert isinstance(late, Refused)
    assert late.replaced_by is not None
    fresh = Ask.objects.get(pk=late.replaced_by.pk)
    assert access.may_answer(member, fresh) == admitted
    assert Nudge.objects.filter(ask=fresh, said_at=None).count() == 0
    assert LedgerRecord.objects.filter(kind="escalated").count() == 1 + admitted


def test_the_card_says_so_before_and_after(ask: Ask, owner: User, member: User) -> None:
    before, after = (Client() for _ in range(2))
    before.force_login(owner)
    assert "the group board may answer too" in read(before.get("/").content).words
    waits_too_long(ask)
    after.force_login(member)
    for client in (before, after):
        words = read(client.get("/").content).words
        assert "It waited too long, so the group board may answer this too." in words
