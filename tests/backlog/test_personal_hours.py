"""A person says where and when they are there: clocks follow it, and so do deadlines."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client

from agents.models import Agent, Session
from asks.deadlines.extension import extend_deadline
from asks.models import Ask, Nudge, PersonalHours
from asks.policies import personal_hours
from asks.policies.working_hours import WorkingHours, add_working_time
from tests.factories import UserFactory
from tests.pages.html import read
from tests.policies.world import asked, group_of, in_force, refund

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
BERLIN: dict[str, Any] = {
    "zone": "Europe/Berlin",
    "days": ["mon", "tue", "wed", "thu", "fri"],
    "opens": time(9),
    "closes": time(17),
}
AUCKLAND: dict[str, Any] = {**BERLIN, "zone": "Pacific/Auckland"}


def at(year: int, month: int, day: int, hour: int) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC)


@pytest.fixture
def as_owner(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


@pytest.mark.case("C64")
def test_a_deadline_counts_the_hours_of_the_one_who_answers(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    agent.owners.remove(colleague)
    personal_hours.set_hours(owner, BERLIN)
    in_force(agent, refund(), expires_after="PT16H", remind_after="PT9H", warn_before="PT1H")
    ask = asked(session)
    hours = WorkingHours.model_validate(BERLIN)
    assert ask.expires_at == add_working_time(ask.opened_at, 16 * HOUR, hours)
    assert ask.nudges.get(kind="reminder").due_at == add_working_time(
        ask.opened_at, 9 * HOUR, hours
    )
    longer = extend_deadline(ask_id=ask.pk, by=owner)
    assert isinstance(longer, Ask)
    assert longer.expires_at is not None
    assert longer.expires_at - ask.opened_at > 24 * HOUR


def test_of_two_it_is_enough_that_one_is_there(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    personal_hours.set_hours(owner, BERLIN)
    personal_hours.set_hours(colleague, AUCKLAND)
    in_force(agent, refund(), expires_after="PT16H")
    ask = asked(session)
    both = [WorkingHours.model_validate(one) for one in (BERLIN, AUCKLAND)]
    assert ask.expires_at == add_working_time(ask.opened_at, 16 * HOUR, *both)


def test_while_somebody_is_always_there_all_time_counts(
    agent: Agent, session: Session, owner: User
) -> None:
    personal_hours.set_hours(owner, BERLIN)
    in_force(agent, refund(), expires_after="PT16H")
    ask = asked(session)
    assert ask.expires_at == ask.opened_at + 16 * HOUR


def test_the_hours_of_the_group_that_answers_count(agent: Agent, session: Session) -> None:
    member = UserFactory()
    group_of("finance", member)
    personal_hours.set_hours(member, AUCKLAND)
    in_force(agent, refund(), expires_after="PT16H", answered_by="group:finance")
    ask = asked(session)
    hours = WorkingHours.model_validate(AUCKLAND)
    assert ask.expires_at == add_working_time(ask.opened_at, 16 * HOUR, hours)


def test_hours_that_change_later_leave_what_was_asked(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    for person in (owner, colleague):
        personal_hours.set_hours(person, BERLIN)
    in_force(agent, refund(), expires_after="PT16H")
    ask = asked(session)
    before = ask.expires_at
    personal_hours.clear_hours(owner)
    ask.refresh_from_db()
    assert ask.expires_at == before
    assert Nudge.objects.count() == 0


@pytest.mark.parametrize(
    ("hours", "start", "wait", "end"),
    [
        ((BERLIN,), at(2026, 1, 2, 15), 2, at(2026, 1, 5, 9)),  # Friday 16:00 there, then Monday
        ((BERLIN,), at(2026, 1, 3, 12), 1, at(2026, 1, 5, 9)),  # a Saturday does not count
        ((BERLIN, AUCKLAND), at(2026, 1, 5, 15), 6, at(2026, 1, 6, 1)),  # 1 h here, 5 h there
        ((BERLIN, BERLIN), at(2026, 1, 5, 8), 8, at(2026, 1, 5, 16)),  # the same hour counts once
        ((), at(2026, 1, 3, 12), 5, at(2026, 1, 3, 17)),
    ],
)
def test_counting(hours: tuple[Any, ...], start: datetime, wait: int, end: datetime) -> None:
    calendars = [WorkingHours.model_validate(one) for one in hours]
    assert add_working_time(start, wait * HOUR, *calendars) == end


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"zone": "Mars/Base"}, "zone"),
        ({"days": []}, "days"),
        ({"days": ["someday"]}, "days"),
        ({"opens": time(17), "closes": time(9)}, "closes"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(
    owner: User, wrong: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        personal_hours.set_hours(owner, {**BERLIN, **wrong})
    assert list(refused.value.message_dict) == [field]
    assert not PersonalHours.objects.exists()


def test_nor_does_the_database_take_it(owner: User) -> None:
    wrong = {**BERLIN, "opens": time(18)}
    with pytest.raises(IntegrityError), transaction.atomic():
        PersonalHours.objects.create(person=owner, **wrong)


class TestThePage:
    SENT = {"zone": "Europe/Berlin", "days": ["mon", "sat"], "opens": "10:00", "closes": "14:30"}

    def test_it_keeps_what_is_sent_and_shows_it(self, as_owner: Client, owner: User) -> None:
        assert as_owner.post("/hours", self.SENT).status_code == 302
        kept = personal_hours.hours_of(owner)
        assert kept is not None
        assert (kept.zone, kept.days, kept.closes) == (
            "Europe/Berlin",
            ("mon", "sat"),
            time(14, 30),
        )
        page = as_owner.get("/hours").content.decode()
        assert 'value="10:00"' in page
        assert 'data-zone="Europe/Berlin"' in page

    def test_the_zone_is_known_after_signing_in_again(self, owner: User) -> None:
        personal_hours.set_hours(owner, BERLIN)
        again = Client()
        again.force_login(owner)
        assert 'data-zone="Europe/Berlin"' in again.get("/").content.decode()

    def test_it_forgets(self, as_owner: Client, owner: User) -> None:
        as_owner.post("/hours", self.SENT)
        as_owner.post("/hours", {"forget": "1"})
        assert personal_hours.hours_of(owner) is None
        assert "data-zone" not in as_owner.get("/").content.decode()

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"zone": "Mars/Base"}, "There is no time zone"),
            ({"zone": "\0"}, "Null characters"),
            ({"days": []}, "This field is required"),
            ({"closes": "09:00"}, "They must open before they close"),
            ({"opens": "noon"}, "Enter a valid time"),
        ],
    )
    def test_it_says_what_is_wrong(
        self, as_owner: Client, wrong: dict[str, Any], words: str
    ) -> None:
        response = as_owner.post("/hours", {**self.SENT, **wrong})
        assert response.status_code == 422
        assert words in read(response.content).words
        assert not PersonalHours.objects.exists()

    def test_nobody_sets_those_of_another(self, as_owner: Client, stranger: User) -> None:
        as_owner.post("/hours", {**self.SENT, "person": stranger.pk})
        assert personal_hours.hours_of(stranger) is None

    def test_the_card_shows_the_deadline_on_the_clocks_that_are_counted(
        self, as_owner: Client, agent: Agent, session: Session, owner: User, colleague: User
    ) -> None:
        personal_hours.set_hours(owner, BERLIN)
        personal_hours.set_hours(colleague, AUCKLAND)
        in_force(agent, refund(), expires_after="PT16H")
        ask = asked(session)
        words = read(as_owner.get(f"/asks/{ask.pk}/").content).words
        assert "in Europe/Berlin" in words
        assert "in Pacific/Auckland" in words
