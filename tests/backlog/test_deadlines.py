"""Deadlines: in the owners' hours, with a warning before, prolonged by a button; each said once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.db.expressions import database_now
from agents.models import Agent, Session
from asks.deadlines import expiry
from asks.deadlines.extension import extend_deadline
from asks.deadlines.nudges import send_due_nudges
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, LedgerRecord, Nudge, NudgeKind
from asks.policies.working_hours import WorkingHours, add_working_time
from asks.refusals import Refused
from tests.factories import REFUND, AskFactory, draft, echo_of, turn_of, verdict_on
from tests.pages.html import read
from tests.policies.world import asked, in_force, refund
from workspace.models import OutboxItem

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def come(nudge: Nudge) -> None:
    """Its time comes."""
    Nudge.objects.filter(pk=nudge.pk).update(due_at=database_now())


def said_in(session: Session) -> list[str]:
    return list(
        session.events.filter(kind="reminded").order_by("seq").values_list("text", flat=True)
    )


@pytest.fixture
def ask(agent: Agent, session: Session) -> Ask:
    in_force(
        agent,
        refund(),
        expires_after="PT4H",
        warn_before="PT1H",
        remind_after="PT2H",
        escalate_after="PT3H",
        escalate_to="owners",
        extensions=2,
    )
    return asked(session)


@pytest.mark.case("C64")
def test_what_will_be_said_is_written_when_it_is_asked(ask: Ask) -> None:
    assert ask.expires_at == ask.opened_at + 4 * HOUR
    planned = {nudge.kind: nudge.due_at - ask.opened_at for nudge in ask.nudges.all()}
    assert planned == {"reminder": 2 * HOUR, "escalation": 3 * HOUR, "warning": 3 * HOUR}


@pytest.mark.case("C64")
@pytest.mark.parametrize("kind", NudgeKind.values)
def test_each_is_said_once_in_the_thread_and_outside(ask: Ask, session: Session, kind: str) -> None:
    assert send_due_nudges() == 0
    come(ask.nudges.get(kind=kind))
    assert send_due_nudges() == 1
    assert send_due_nudges() == 0
    assert len(said_in(session)) == 1
    item = OutboxItem.objects.get(kind="ask.reminded")
    assert item.payload["nudge"]["kind"] == kind
    assert item.subject == f"ask:{ask.pk}"


def test_an_escalation_says_to_whom(ask: Ask, session: Session) -> None:
    come(ask.nudges.get(kind="escalation"))
    send_due_nudges()
    assert said_in(session) == [
        "This question has waited too long. It has been escalated to owners."
    ]


def test_nothing_is_said_about_what_is_over(ask: Ask, session: Session, owner: User) -> None:
    verdict_on(ask, owner)
    for nudge in ask.nudges.all():
        come(nudge)
    assert send_due_nudges() == 0
    assert said_in(session) == []
    assert not Nudge.objects.filter(said_at=None).exists()


@pytest.mark.case("C64")
def test_more_time_moves_the_deadline_and_its_warning(
    ask: Ask, session: Session, owner: User
) -> None:
    before = ask.expires_at
    longer = extend_deadline(ask_id=ask.pk, by=owner)
    assert isinstance(longer, Ask)
    ask.refresh_from_db()
    assert before is not None
    assert ask.expires_at is not None
    assert ask.expires_at >= before
    assert ask.extended == 1
    warnings = ask.nudges.filter(kind="warning", said_at=None)
    assert [one.due_at for one in warnings] == [ask.expires_at - HOUR]
    assert LedgerRecord.objects.get(kind="extended").subject == f"ask:{ask.pk}"
    assert session.events.get(kind="extended").actor == "human:olga"


def test_the_warning_of_the_longer_deadline_is_given_too(
    ask: Ask, session: Session, owner: User
) -> None:
    come(ask.nudges.get(kind="warning"))
    send_due_nudges()
    extend_deadline(ask_id=ask.pk, by=owner)
    come(ask.nudges.get(kind="warning", said_at=None))
    send_due_nudges()
    assert len(said_in(session)) == 2


def test_time_is_given_as_often_as_the_policy_says(ask: Ask, owner: User, colleague: User) -> None:
    assert isinstance(extend_deadline(ask_id=ask.pk, by=owner), Ask)
    assert isinstance(extend_deadline(ask_id=ask.pk, by=colleague), Ask)
    refused = extend_deadline(ask_id=ask.pk, by=owner)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.detail) == (
        Reason.NOT_ALLOWED,
        "The policy does not allow more time for this question.",
    )


def test_what_has_no_deadline_of_a_policy_is_not_prolonged(session: Session, owner: User) -> None:
    for more in ({}, {"expires_in": HOUR}):
        refused = extend_deadline(ask_id=AskFactory(session=session, **more).pk, by=owner)
        assert isinstance(refused, Refused)


def test_what_has_expired_is_not_brought_back(ask: Ask, owner: User) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now())
    refused = extend_deadline(ask_id=ask.pk, by=owner)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.EXPIRED
    expiry.expire_due_asks()
    refused = extend_deadline(ask_id=ask.pk, by=owner)
    assert isinstance(refused, Refused)
    assert refused.http_status == 410


@pytest.mark.parametrize("ask_id", [0, "x", 10**30, None])
def test_what_is_not_there(owner: User, ask_id: object) -> None:
    refused = extend_deadline(ask_id=ask_id, by=owner)  # type: ignore[arg-type]
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.NOT_FOUND


def test_a_stranger_gives_no_time(ask: Ask, stranger: User) -> None:
    refused = extend_deadline(ask_id=ask.pk, by=stranger)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.NOT_FOUND


def test_an_answer_is_good_until_the_longer_deadline(ask: Ask, owner: User) -> None:
    extend_deadline(ask_id=ask.pk, by=owner)
    verdict_on(ask, owner)


def test_a_deadline_is_counted_in_the_owners_working_hours(
    agent: Agent, session: Session, owner: User
) -> None:
    from asks.policies import versions

    hours = {"zone": "Europe/Berlin", "opens": "09:00", "closes": "17:00"}
    rules = {"terms": {"expires_after": "PT16H"}, "working_hours": hours}
    versions.add_version(agent_id=agent.pk, rules=rules, why="We are there by day.", by=owner)
    ask = asked(session)
    assert ask.expires_at == add_working_time(
        ask.opened_at, 16 * HOUR, WorkingHours.model_validate(hours)
    )
    assert ask.expires_at is not None
    assert ask.expires_at - ask.opened_at > 24 * HOUR
    client = Client()
    client.force_login(owner)
    page = read(client.get(f"/asks/{ask.pk}/").content)
    assert "in Europe/Berlin" in page.words


def test_a_question_has_the_deadline_of_the_policy_too(agent: Agent, session: Session) -> None:
    in_force(agent, expires_after="P1D")
    run = turn_of(session, asks=(draft(),))
    ask = run.asks.get()
    assert ask.expires_at == ask.opened_at + timedelta(days=1)


def test_what_the_protocol_says_itself_stands_before_the_policy(
    agent: Agent, session: Session
) -> None:
    in_force(agent, refund(), expires_after="P1D")
    ask = asked(session, expires_in=HOUR)
    assert ask.expires_at == ask.opened_at + HOUR


def test_the_button_gives_more_time(ask: Ask, owner: User) -> None:
    client = Client()
    client.force_login(owner)
    page = read(client.get("/").content)
    form = page.one("form", action=f"/asks/{ask.pk}/extend")
    assert form.words == "More time"
    response = client.post(f"/asks/{ask.pk}/extend", form.fields(), headers={"HX-Request": "true"})
    assert response.status_code == 200
    client.post(f"/asks/{ask.pk}/extend")
    assert not read(client.get("/").content).all("form", action=f"/asks/{ask.pk}/extend")


def test_a_card_that_is_remembered_shows_the_new_deadline(ask: Ask, owner: User) -> None:
    client = Client()
    client.force_login(owner)
    client.get("/")
    Ask.objects.filter(pk=ask.pk).update(
        expires_at=datetime(2099, 1, 2, tzinfo=UTC), card_version=ask.card_version + 1
    )
    assert "2099-01-02" in client.get("/").content.decode()


def test_expiry_pauses_and_approves_nothing_under_a_policy_too(ask: Ask, session: Session) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now())
    assert expiry.expire_due_asks() == 1
    ask.refresh_from_db()
    assert ask.status == AskStatus.EXPIRED
    assert "nothing was approved" in session.events.get(kind="expired").text
    assert REFUND.operation == ask.gate.operation
    assert echo_of(ask)["policy_version"] == 1
