"""Pages of lists stay where they are while rows come and go."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from agents.models import Agent
from asks.answering import answer_ask
from asks.models import Ask
from tests.factories import AgentFactory
from tests.pages import world
from workspace.pages.keyset import KeysetPage

pytestmark = pytest.mark.django_db
CARD = re.compile(r'<article class="card"\s+id="ask-(\d+)"')
NEXT = re.compile(r'href="(\?[^"]+)" rel="(next|prev)"')


def cards(client: Client, address: str) -> list[int]:
    return [int(number) for number in CARD.findall(client.get(address).content.decode())]


def links(client: Client, address: str) -> dict[str, str]:
    html = client.get(address).content.decode()
    return {rel: "/" + href.replace("&amp;", "&") for href, rel in NEXT.findall(html)}


def answer(asks: list[int], by: User) -> None:
    for pk in asks:
        answer_ask(ask_id=pk, by=by, option="eu")


def test_nothing_is_skipped_when_the_page_before_is_answered(as_owner: Client, owner: User) -> None:
    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(70)])
    first = cards(as_owner, "/")
    following = links(as_owner, "/")["next"]
    answer(first[:10], owner)
    assert cards(as_owner, following) == list(
        Ask.objects.order_by("pk").values_list("pk", flat=True)[50:]
    )


def test_nothing_comes_twice_when_a_page_is_answered_and_left(
    as_owner: Client, owner: User
) -> None:
    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(120)])
    seen: list[int] = []
    address = "/"
    while address:
        page = cards(as_owner, address)
        address = links(as_owner, address).get("next", "")
        seen += page
        answer(page[::3], owner)
    assert seen == list(Ask.objects.order_by("pk").values_list("pk", flat=True))


def test_back_and_forth_are_the_same_pages(as_owner: Client, owner: User) -> None:
    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(120)])
    second = links(as_owner, "/")["next"]
    third = links(as_owner, second)["next"]
    assert links(as_owner, third).keys() == {"prev"}
    assert cards(as_owner, links(as_owner, third)["prev"]) == cards(as_owner, second)
    assert cards(as_owner, links(as_owner, second)["prev"]) == cards(as_owner, "/")


@pytest.mark.parametrize(
    "place", ["x", "~", "~~", "2026-01-01T00:00:00Z~x", "2026-01-01~1", "%00~1", "a" * 5000]
)
@pytest.mark.parametrize("name", ["after", "before"])
def test_a_place_that_is_none_is_the_first_page(
    as_owner: Client, owner: User, name: str, place: str
) -> None:
    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(51)])
    assert cards(as_owner, f"/?{name}={place}") == cards(as_owner, "/")


@pytest.mark.parametrize("order", [("slug",), ("-created_at", "-pk"), ("lifecycle", "slug")])
def test_every_row_once_in_any_order(order: tuple[str, ...]) -> None:
    for number in range(23):
        AgentFactory(slug=f"agent-{number:02}", lifecycle="paused" if number % 3 else "active")
    rows = Agent.objects.order_by(*order)
    query, found = "", []
    for _ in range(6):
        page = KeysetPage(rows, RequestFactory().get(f"/?{query}"), 5)
        found += [agent.slug for agent in page]
        query = page.later
        if not query:
            break
        assert parse_qs(urlsplit(f"/?{query}").query).keys() == {"after"}
    assert found == list(rows.values_list("slug", flat=True))
