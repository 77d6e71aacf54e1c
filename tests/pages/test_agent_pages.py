"""The list of agents, one agent, and connecting a new one field by field."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents.models import Agent, Run
from tests.pages import world
from tests.pages.html import Element, read

pytestmark = pytest.mark.django_db

GOOD = {"slug": "sorter", "command": "python3 sort.py --by 'file date'", "wake": "manual"}


def connect(client: Client, **changes: Any) -> tuple[int, Element]:
    response = client.post("/agents/new", GOOD | changes, follow=True)
    return response.status_code, read(response.content)


@pytest.fixture(autouse=True)
def owner_may_connect(owner: User) -> None:
    owner.user_permissions.add(Permission.objects.get(codename="add_agent"))


def error_of(page: Element, field: str) -> str:
    return page.one("span", id=f"id_{field}_error").words


def test_mine_are_listed_and_nobody_elses(
    as_owner: Client, as_stranger: Client, owner: User
) -> None:
    world.agent_of(owner, slug="alpha")
    world.asked(world.agent_of(owner, slug="beta"))
    words = read(as_owner.get("/agents/").content).one("main").words
    assert words.index("alpha") < words.index("beta")
    assert "1 ask open" in words
    assert "You start it." in words
    assert "alpha" not in read(as_stranger.get("/agents/").content).words


def test_an_agents_page(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    Agent.objects.filter(pk=agent.pk).update(
        mission="Close <b>October</b>.", contract="Ask first.\nThen act."
    )
    words = read(as_owner.get("/agents/ledger-close/").content).one("main").words
    for expected in (
        "Close <b>October</b>.",
        "Ask first.",
        "Only when a person starts it.",
        "echo hi",
        "olga",
    ):
        assert expected in words


@pytest.mark.parametrize("path", ["", "start", "pause", "resume"])
def test_strangers_find_nothing(
    as_stranger: Client, client: Client, owner: User, path: str
) -> None:
    world.agent_of(owner)
    url = f"/agents/ledger-close/{path}"
    ask = as_stranger.post if path else as_stranger.get
    assert ask(url).status_code == 404
    assert (client.post(url).status_code == 401) if path else (client.get(url).status_code == 302)
    assert not Run.objects.exists()


def test_a_colleague_may_pause_and_resume(
    as_colleague: Client, owner: User, colleague: User
) -> None:
    world.agent_of(owner, colleague)
    page = read(as_colleague.post("/agents/ledger-close/pause", follow=True).content)
    assert "is paused" in page.one("div", id="toasts").words
    assert page.one("form", action="/agents/ledger-close/resume")
    as_colleague.post("/agents/ledger-close/resume")
    assert Agent.objects.get().lifecycle == "active"


def test_starting_leads_to_the_thread(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    response = as_owner.post("/agents/ledger-close/start")
    assert response["Location"] == f"/sessions/{world.home(agent).pk}/"
    assert Run.objects.get().status == "queued"


def test_connecting_one(as_owner: Client, owner: User) -> None:
    status, page = connect(as_owner, mission="Sort.", title="Sorts files")
    assert status == 200
    assert page.one("form", action="/agents/sorter/start")
    agent = Agent.objects.get()
    assert agent.settings["command"] == ["python3", "sort.py", "--by", "file date"]
    assert list(agent.owners.all()) == [owner]
    assert (agent.lifecycle, agent.mission) == ("draft", "Sort.")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ({"wake": "on_message"}, {"kind": "on_message"}),
        ({"wake": "continuous"}, {"kind": "continuous"}),
        ({"wake": "every", "minutes": "90"}, {"kind": "schedule", "every_seconds": 5400}),
        ({"wake": "cron", "cron": "0 9 * * 1-5"}, {"kind": "schedule", "cron": "0 9 * * 1-5"}),
    ],
)
def test_when_it_works(as_owner: Client, fields: dict[str, str], policy: dict[str, object]) -> None:
    connect(as_owner, **fields)
    assert Agent.objects.get().wake_policy == policy


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"slug": ""}, "slug"),
        ({"slug": " "}, "slug"),
        ({"slug": "\u200b"}, "slug"),
        ({"slug": "a\x00b"}, "slug"),
        ({"slug": "Sorter"}, "slug"),
        ({"slug": "../x"}, "slug"),
        ({"slug": "x" * 64}, "slug"),
        ({"slug": "new"}, "slug"),
        ({"command": ""}, "command"),
        ({"command": "  "}, "command"),
        ({"command": "\u200b"}, "command"),
        ({"command": "a\x00b"}, "command"),
        ({"command": "python3 'open"}, "command"),
        ({"command": "''"}, "command"),
        ({"command": "x" * 4_001}, "command"),
        ({"cwd": "a\x00b"}, "cwd"),
        ({"title": "x" * 201}, "title"),
        ({"name": "x" * 121}, "name"),
        ({"mission": "x" * 16_001}, "mission"),
        ({"contract": "a\x00b"}, "contract"),
        ({"wake": "often"}, "wake"),
        ({"wake": ""}, "wake"),
        ({"wake": "every"}, "minutes"),
        ({"wake": "every", "minutes": "0"}, "minutes"),
        ({"wake": "every", "minutes": "soon"}, "minutes"),
        ({"wake": "every", "minutes": "9" * 40}, "minutes"),
        ({"wake": "cron"}, "cron"),
        ({"wake": "cron", "cron": "every monday"}, "cron"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_the_rest_is_kept(
    as_owner: Client, changes: dict[str, str], field: str
) -> None:
    status, page = connect(as_owner, **({"mission": "My long mission"} | changes))
    assert status == 422
    assert error_of(page, field)
    entry = page.one(id=f"id_{field}")
    assert entry.attrs["aria-invalid"] == "true"
    assert f"id_{field}_error" in str(entry.attrs["aria-describedby"])
    if "mission" not in changes:
        assert page.one("textarea", name="mission").words == "My long mission"
    assert not Agent.objects.exists()


def test_a_name_that_is_taken(as_owner: Client, stranger: User) -> None:
    world.agent_of(stranger, slug="sorter")
    status, page = connect(as_owner)
    assert status == 422
    assert "already" in error_of(page, "slug")


def test_the_same_form_twice_makes_one_agent(as_owner: Client) -> None:
    connect(as_owner)
    assert connect(as_owner)[0] == 422
    assert Agent.objects.count() == 1


def test_two_megabytes_are_not_read(as_owner: Client) -> None:
    assert connect(as_owner, mission="x" * 2_000_000)[0] in {400, 413}


@pytest.mark.parametrize("count", [1, 30])
def test_queries_do_not_grow_with_agents(
    as_owner: Client, owner: User, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(count):
        world.agent_of(owner, slug=f"agent-{number}")
    with django_assert_max_num_queries(9):
        as_owner.get("/agents/")
    with django_assert_max_num_queries(13):
        as_owner.get("/agents/agent-0/")


def test_connecting_runs_a_command_here_so_it_takes_a_permission(
    as_colleague: Client, as_owner: Client
) -> None:
    assert as_colleague.get("/agents/new").status_code == 403
    assert as_colleague.post("/agents/new", GOOD).status_code == 403
    assert not Agent.objects.exists()
    assert "Connect an agent" not in read(as_colleague.get("/agents/").content).words
    assert "Connect an agent" in read(as_owner.get("/agents/").content).words
