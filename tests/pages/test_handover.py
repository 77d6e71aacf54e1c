"""An ask that nobody may answer is an alarm for those who may change owners, and is handed over."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from agents.models import Agent
from asks.models import Ask
from asks.policies.versions import add_version
from asks.queue.queries import count_badge
from asks.queue.unanswerable import agents_without_owner, unanswerable_asks
from tests.pages import world
from tests.pages.conftest import signed_in
from tests.pages.html import read
from workspace.health.metrics import metrics_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(owner: User) -> Agent:
    return world.agent_of(owner)


@pytest.fixture
def admin(db: None) -> User:
    ada = User.objects.create_user("ada", is_staff=True)
    ada.user_permissions.add(Permission.objects.get(codename="change_agent"))
    return ada


def deactivate(person: User) -> None:
    person.is_active = False
    person.save()


def in_force(agent: Agent, owner: User, **terms: Any) -> None:
    add_version(agent_id=agent.pk, rules={"terms": terms}, why="So.", by=owner)


def orphans() -> list[Ask]:
    return list(unanswerable_asks())


def test_the_only_owner_is_deactivated(
    client: Client, agent: Agent, owner: User, admin: User, stranger: User
) -> None:
    ask = world.asked(agent)
    assert orphans() == []
    assert "details" not in client.get("/readyz").json()
    deactivate(owner)
    assert orphans() == [ask]
    assert list(agents_without_owner()) == [agent]
    found = {"unanswerable_asks": 1, "agents_without_owner": 1}
    assert client.get("/readyz").json()["details"] == found
    assert b"needs_you_unanswerable_asks 1.0" in metrics_text()
    as_admin = signed_in(admin)
    page = read(as_admin.get("/").content).one("main")
    assert "1 open question can be answered by nobody." in page.words
    page = read(as_admin.get("/handover/").content).one("main")
    assert "olga is deactivated." in page.words
    assert ask.prompt not in page.words
    assert page.all("a", href="/agents/ledger-close/owners")
    fields = read(as_admin.get("/agents/ledger-close/owners").content).one("main")
    version = fields.all("form")[-1].fields()["version"]
    change = {"version": version, "people": [stranger.pk]}
    assert as_admin.post("/agents/ledger-close/owners", change).status_code == 302
    assert (orphans(), count_badge(stranger)) == ([], 1)
    assert "can be answered by nobody" not in read(as_admin.get("/").content).words


def test_a_second_owner_who_is_active_is_enough(owner: User, colleague: User) -> None:
    world.asked(world.agent_of(owner, colleague))
    deactivate(owner)
    assert orphans() == []


@pytest.mark.parametrize("how", ["no_member", "deactivated"])
def test_a_group_without_anybody(agent: Agent, owner: User, colleague: User, how: str) -> None:
    board = Group.objects.create(name="board")
    in_force(agent, owner, answered_by="group:board")
    ask = world.asked(agent)
    assert orphans() == [ask]
    colleague.groups.add(board)
    assert orphans() == []
    if how == "deactivated":
        deactivate(colleague)
    else:
        colleague.groups.clear()
    assert orphans() == [ask]


def test_four_eyes_with_one_owner(agent: Agent, owner: User, colleague: User) -> None:
    in_force(agent, owner, four_eyes="required")
    ask = world.asked(agent)  # its turn was started for the only owner
    assert orphans() == [ask]
    agent.owners.add(colleague)
    assert orphans() == []


def test_only_those_who_may_change_owners_see_it(
    as_owner: Client, client: Client, agent: Agent, stranger: User
) -> None:
    assert as_owner.get("/handover/").status_code == 403
    assert client.get("/handover/").status_code == 302
    world.asked(world.agent_of(stranger, slug="other"))
    deactivate(stranger)
    assert "can be answered by nobody" not in read(as_owner.get("/").content).words
    staff = User.objects.create_user("stan", is_staff=True)
    assert "can be answered by nobody" not in read(signed_in(staff).get("/").content).words
