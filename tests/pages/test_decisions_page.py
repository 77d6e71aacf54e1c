"""The history: every answer, and every answer that was turned down, newest first."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from asks.answering import answer_ask
from asks.models import Ask
from tests.pages import world
from tests.pages.html import Element, read

pytestmark = pytest.mark.django_db


def rows(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/decisions/{query}")
    assert response.status_code == 200
    lists = read(response.content).one("main").all("ul", class_="rows")
    return [item.words for one in lists for item in one.all("li")]


@pytest.fixture
def history(as_owner: Client, as_colleague: Client, owner: User, colleague: User) -> None:
    agent = world.agent_of(owner, colleague)
    world.turn(
        agent,
        *[world.question(key, prompt=f"Question {key}?") for key in ("answered", "withdrawn")],
    )
    answered, withdrawn = (Ask.objects.get(request_key=key) for key in ("answered", "withdrawn"))
    as_colleague.post(f"/asks/{answered.pk}/answer", {"option": "nope"})
    as_owner.post(f"/asks/{answered.pk}/answer", {"option": "eu"})
    as_owner.post(f"/asks/{withdrawn.pk}/withdraw", {"reason": "not needed"})


@pytest.mark.usefixtures("history")
def test_newest_first(as_owner: Client) -> None:
    first, second = rows(as_owner)
    assert "Question withdrawn?" in first
    assert "olga withdrew it: not needed" in first
    assert "Question answered?" in second
    assert "olga: EU ledger" in second


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?show=answered", ["Question answered?"]),
        ("?show=withdrawn", ["Question withdrawn?"]),
        ("?show=expired", []),
        ("?show=superseded", []),
        ("?show=refused", ["carl: That option was not offered."]),
        ("?show=refused&agent=ledger-close", ["carl"]),
        ("?show=answered&agent=other", []),
        ("?show=nonsense", ["withdrawn", "answered"]),
        ("?agent=%00", ["withdrawn", "answered"]),
        ("?show=%00&page=%00", ["withdrawn", "answered"]),
    ],
)
def test_filters(as_owner: Client, query: str, expected: list[str]) -> None:
    found = rows(as_owner, query)
    assert len(found) == len(expected)
    assert all(words in row for words, row in zip(expected, found, strict=True))


@pytest.mark.usefixtures("history")
def test_who_may_look(as_colleague: Client, as_stranger: Client, client: Client) -> None:
    assert len(rows(as_colleague)) == 2
    assert rows(as_stranger) == rows(as_stranger, "?show=refused") == []
    assert client.get("/decisions/").status_code == 302


def test_pages_keep_their_filter(as_owner: Client, owner: User) -> None:
    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(55)])
    for ask in Ask.objects.all():
        answer_ask(ask_id=ask.pk, by=owner, option="eu")
    page: Element = read(as_owner.get("/decisions/?show=answered").content)
    following = page.one("a", rel="next").attrs["href"]
    assert str(following).startswith("?show=answered&after=")
    assert len(rows(as_owner, str(following))) == 5


@pytest.mark.parametrize("count", [1, 30])
def test_queries_do_not_grow_with_decisions(
    as_owner: Client, owner: User, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(count)])
    for ask in Ask.objects.all():
        answer_ask(ask_id=ask.pk, by=owner, option="eu")
    with django_assert_max_num_queries(8):
        assert len(rows(as_owner)) == count
    with django_assert_max_num_queries(8):
        rows(as_owner, "?show=refused")
