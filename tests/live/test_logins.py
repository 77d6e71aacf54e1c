"""Looks at many logins, rights and positions at once: what they find, and in how many queries."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as Login
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agents.models import Agent, Session
from asks import answering
from tests.live import world
from tests.pages import world as asking
from workspace.live import access_checks

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> list[User]:
    return [world.person(name) for name in ("ann", "ben", "cleo")]


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_logins_takes_two_queries(
    people: list[User], count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    keys = {world.login_of(person): person for person in people[:count]}
    with django_assert_num_queries(2):
        assert access_checks.people_by_login([*keys, "unknown"]) == keys


def test_logins_that_ended_are_left_out(people: list[User]) -> None:
    expired, disabled, renewed = map(world.login_of, people)
    kept = world.login_of(people[0])
    Login.objects.filter(session_key=expired).update(expire_date=timezone.now() - timedelta(days=1))
    people[1].is_active = False
    people[1].save()
    people[2].set_password("a new one")
    people[2].save()
    assert access_checks.people_by_login([expired, disabled, renewed, kept]) == {kept: people[0]}


@pytest.mark.parametrize(
    "held", [{}, {"_auth_user_id": "x"}, {"_auth_user_id": "1"}, {"_auth_user_id": "9" * 30}]
)
def test_a_session_that_signs_nobody_in(people: list[User], held: dict[str, str]) -> None:
    browser = world.client_of("")
    browser.cookies.clear()
    session = browser.session
    session.update(held)
    session.save()
    assert people
    assert access_checks.people_by_login([str(session.session_key)]) == {}


def test_rights_are_those_of_the_pages(people: list[User]) -> None:
    ann, ben, _ = people
    mine, ours = world.session_of(ann, slug="mine"), world.session_of(ann, ben, slug="ours")
    wanted = [mine.pk, ours.pk]
    assert access_checks.sessions_seen_by(ann, wanted) == {mine.pk, ours.pk}
    assert access_checks.sessions_seen_by(ben, wanted) == {ours.pk}
    assert access_checks.last_seq_seen_by(ben, mine.pk) is None
    assert access_checks.last_seq_seen_by(ben, ours.pk) == 1


@pytest.mark.parametrize("count", [1, 5])
def test_any_number_of_positions_takes_one_query(
    people: list[User], count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    sessions = [world.session_of(people[0], slug=f"agent-{n}") for n in range(count)]
    world.say(sessions[0], "two", "three")
    with django_assert_num_queries(1):
        found = access_checks.last_seqs([session.pk for session in sessions])
    assert found == {session.pk: 1 for session in sessions} | {sessions[0].pk: 3}


def mark_of(person: User) -> tuple[object, ...]:
    return access_checks.queue_marks([person.pk])[person.pk]


def test_any_number_of_queues_takes_five_queries(
    people: list[User], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    asking.asked(asking.agent_of(*people))
    with django_assert_num_queries(5):
        marks = access_checks.queue_marks([person.pk for person in people])
    assert len(set(marks.values())) == 1
    assert marks[people[0].pk] == mark_of(people[0])


def test_a_mark_differs_after_every_change_of_the_queue_and_of_nobody_elses(
    people: list[User],
) -> None:
    ann, ben, cleo = people
    first: Agent = asking.agent_of(ann, ben, slug="first")
    seen, others = [mark_of(ann)], [mark_of(cleo)]
    ask = asking.asked(first)
    seen.append(mark_of(ann))
    answering.answer_ask(ask_id=ask.pk, by=ben, option="eu")
    seen.append(mark_of(ann))
    asking.asked(asking.agent_of(ann, slug="second"))
    seen.append(mark_of(ann))
    Session.objects.filter(agent=first).update(status="BLOCKED", open_asks=0)
    seen.append(mark_of(ann))
    others.append(mark_of(cleo))
    assert all(one != next_one for one, next_one in itertools.pairwise(seen))
    assert len(set(others)) == 1
