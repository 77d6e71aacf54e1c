"""Taking an approval back: on the pages and over the API, by whom, and what everybody is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asks.drafts import ActionDraft
from asks.ledger import verify
from asks.models import LedgerRecord, Refusal
from tests.api.calling import Caller
from tests.factories import ask, claim, draft, verdict_on
from tests.grants.test_in_the_turn import take
from tests.grants.world import World, check_it_ended, command_world
from tests.pages.html import read
from tests.policies.world import group_of, in_force
from workspace.accounts import api_keys

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(owner: User, colleague: User, tmp_path: Path) -> World:
    world = command_world(owner, colleague, tmp_path)
    verdict_on(world.asked, owner)
    return world


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def words_of(person: User, path: str) -> str:
    return read(browser(person).get(path).content).words


def key_of(world: World, person: User | None, *scopes: str) -> Caller:
    agent = None if person else world.agent
    token = api_keys.create_key(name="k", scopes=scopes, person=person, agent=agent)[1]
    return Caller(token)


def test_a_live_grant_is_on_the_page_of_its_session_and_of_its_agent(world: World) -> None:
    for path in (f"/sessions/{world.session.pk}/", f"/agents/{world.agent.slug}/"):
        words = words_of(world.owner, path)
        assert "May run once" in words
        assert "rm -rf build" in words
        assert "Take back" in words
    claim(world.session.runs.latest("number"))
    assert "May run once" in words_of(world.owner, f"/sessions/{world.session.pk}/")


def test_what_is_over_for_lack_of_rights_is_not_on_the_pages(world: World) -> None:
    """Nothing has recorded its end yet: the next turn, or the worker, will."""
    world.agent.owners.remove(world.owner)
    assert world.grant.state == "minted"
    for path in (f"/sessions/{world.session.pk}/", f"/agents/{world.agent.slug}/"):
        assert "May run once" not in words_of(world.colleague, path)


@pytest.mark.parametrize("who", ["owner", "colleague"])
def test_an_owner_takes_it_back_with_one_press(world: World, who: str) -> None:
    person: User = getattr(world, who)
    response = browser(person).post(f"/grants/{world.grant.pk}/take-back")
    assert (response.status_code, response.headers["Location"]) == (
        302,
        f"/sessions/{world.session.pk}/",
    )
    check_it_ended(world, "taken_back", "withdrawn")
    assert world.grant.ended_by == person
    words = words_of(person, f"/sessions/{world.session.pk}/")
    assert "May run once" not in words
    assert f"{person} took back the approval of rm -rf build. It was not used." in words
    turn = claim(world.session.runs.latest("number"))
    (told,) = [given.data for given in turn.given if given.kind == "verdict"]
    assert told["ended"]["why"] == "taken_back"


def test_taking_it_back_twice_is_once(world: World) -> None:
    for _ in range(2):
        response = browser(world.owner).post(f"/grants/{world.grant.pk}/take-back")
        assert response.status_code == 302
    assert LedgerRecord.objects.filter(kind="grant_withdrawn").count() == 1


def test_a_stranger_finds_nothing(world: World, stranger: User) -> None:
    assert browser(stranger).post(f"/grants/{world.grant.pk}/take-back").status_code == 404
    assert Client().post(f"/grants/{world.grant.pk}/take-back").status_code == 401, "sign in first"
    assert browser(world.owner).get(f"/grants/{world.grant.pk}/take-back").status_code == 405
    assert world.grant.state == "minted"
    assert Refusal.objects.get().by == stranger
    verify.verify_ledger()


@pytest.mark.parametrize("number", [0, 999_999, 2**63, 2**70])
def test_a_grant_that_there_is_not_is_not_found(world: World, number: int) -> None:
    assert browser(world.owner).post(f"/grants/{number}/take-back").status_code == 404
    answer = key_of(world, world.owner, "ask:answer").post(f"/api/grants/{number}/withdraw")
    assert answer.status == 404
    verify.verify_ledger()


@pytest.mark.parametrize("who", ["owner", "colleague"])
def test_the_api_lists_it_and_takes_it_back(world: World, who: str) -> None:
    caller = key_of(world, getattr(world, who), "ask:answer")
    (listed,) = caller.get(f"/api/grants?session={world.session.pk}").json["grants"]
    assert (listed["operation"], listed["params"]) == ("Bash", {"command": "rm -rf build"})
    assert (listed["id"], listed["ask"], listed["state"]) == (
        world.grant.pk,
        world.asked.pk,
        "minted",
    )
    for _ in range(2):
        answer = caller.post(f"/api/grants/{world.grant.pk}/withdraw")
        assert (answer.status, answer.json["state"]) == (200, "withdrawn")
    assert caller.get("/api/grants").json == {"grants": []}
    check_it_ended(world, "taken_back", "withdrawn")


def test_over_the_api_a_stranger_finds_nothing_and_an_agent_may_not(
    world: World, stranger: User
) -> None:
    strangers = key_of(world, stranger, "ask:answer")
    assert strangers.get("/api/grants").json == {"grants": []}
    assert strangers.post(f"/api/grants/{world.grant.pk}/withdraw").status == 404
    api_keys.revoke_key("k")
    agents = key_of(world, None, "run:read", "run:create")
    assert len(agents.get("/api/grants").json["grants"]) == 1
    assert agents.post(f"/api/grants/{world.grant.pk}/withdraw").status == 403
    assert world.grant.state == "minted"


def test_what_has_begun_is_refused_with_its_reason(world: World) -> None:
    assert take(claim(world.session.runs.latest("number")))
    answer = key_of(world, world.owner, "ask:answer").post(f"/api/grants/{world.grant.pk}/withdraw")
    assert answer.status == 409
    assert "begun already" in answer.json["detail"]
    page = browser(world.owner).post(f"/grants/{world.grant.pk}/take-back", follow=True)
    assert "begun already" in read(page.content).words


def test_a_confidential_approval_is_not_named_to_an_owner_who_may_not_read_it(
    owner: User, colleague: User, tmp_path: Path
) -> None:
    member = User.objects.create(username="fay")
    world = command_world(owner, colleague, tmp_path)
    group_of("finance", member)
    in_force(world.agent, {"operation": "Bash"}, confidential=True, answered_by="group:finance")
    action = ActionDraft("Bash", {"command": "rm -rf build"})
    world.asked = ask(world.session, draft("secret", prompt="May I?", action=action))[0]
    verdict_on(world.asked, member)
    page = words_of(owner, f"/sessions/{world.session.pk}/")
    assert "May run once" in page
    assert "a confidential action" in page
    caller = key_of(world, owner, "ask:answer")
    assert caller.get("/api/grants").json == {"grants": []}
    assert caller.post(f"/api/grants/{world.grant.pk}/withdraw").status == 404
    assert browser(owner).post(f"/grants/{world.grant.pk}/take-back").status_code == 302
    assert world.grant.state == "withdrawn"
    event = world.session.events.get(kind="grant_ended")
    assert "rm -rf" not in event.text
    assert "rm -rf" not in str(event.data)
