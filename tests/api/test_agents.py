"""Agents over the API: who may do what, what is refused, and what of two edits at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User

from agents import controls
from agents.mending.masking import MASK
from agents.models import Agent
from agents.registration import register_agent
from asks.models import LedgerRecord
from tests.api import world
from tests.api.calling import Answer, Caller
from tests.api.world import Cast
from workspace.accounts import api_keys

pytestmark = pytest.mark.django_db
BOTH = ("run:read", "agent:edit")


@pytest.fixture
def agent(cast: Cast) -> Agent:
    settings = {"command": ["true"], "cwd": "/srv/nowhere", "env": {"KEY": "s3cr3t-value"}}
    return register_agent(
        slug="sorter",
        owners=[cast.owner, cast.colleague],
        runtime_key="markers",
        settings=settings,
    )


def allow(person: User, codename: str) -> None:
    person.user_permissions.add(Permission.objects.get(codename=codename))


def as_person(person: User) -> Caller:
    return Caller(world.key_of(person, scopes=BOTH))


def patch(caller: Caller, body: dict[str, Any], slug: str = "sorter") -> Answer:
    headers = {"Content-Type": "application/json"}
    return caller.send("PATCH", f"/api/agents/{slug}", json.dumps(body).encode(), headers)


def test_reading(cast: Cast, agent: Agent) -> None:
    found = as_person(cast.owner).get("/api/agents/sorter").json
    assert found["settings"]["env"] == {"KEY": MASK}
    assert found["owners"] == sorted([cast.owner.username, cast.colleague.username])
    slugs = [one["slug"] for one in as_person(cast.owner).get("/api/agents").json["agents"]]
    assert slugs == sorted([cast.agent.slug, "sorter"])
    reader = Caller(world.key_of(agent=agent, scopes=("run:read",)))
    seen = reader.get("/api/agents/sorter")
    assert (seen.json["settings"], b"s3cr3t" in seen.body) == (None, False)


DOORS = [
    ("PATCH", ""),
    ("GET", "/told"),
    *[("POST", f"/{verb}") for verb in ("owners", "pause", "resume", "retry", "retire", "restore")],
]


@pytest.mark.parametrize(("method", "door"), DOORS)
@pytest.mark.parametrize("who", ["stranger", "agent", "reader", "nobody"])
def test_who_may_not(cast: Cast, agent: Agent, who: str, method: str, door: str) -> None:
    caller, status = {
        "stranger": (as_person(cast.stranger), 404),
        "agent": (Caller(world.key_of(agent=agent, scopes=("run:create", "run:read"))), 403),
        "reader": (Caller(world.key_of(cast.owner)), 403),
        "nobody": (Caller(None), 401),
    }[who]
    body = {"version": 1, "mission": "Mine."} if method == "PATCH" else {}
    if door == "/owners":
        body = {"version": 1, "add": [cast.stranger.username]}
    headers = {"Content-Type": "application/json"} if method != "GET" else {}
    raw = json.dumps(body).encode() if method != "GET" else b""
    answer = caller.send(method, f"/api/agents/sorter{door}", raw, headers)
    assert answer.status == status
    agent.refresh_from_db()
    assert (agent.version, agent.lifecycle, agent.mission) == (1, "draft", "")
    assert not LedgerRecord.objects.filter(kind="agent_changed").exists()


def test_an_agents_key_can_never_hold_the_scope(agent: Agent) -> None:
    from django.core.exceptions import ValidationError

    with pytest.raises(ValidationError, match="agent:edit"):
        api_keys.create_key(name="x", scopes=["agent:edit"], agent=agent)


def test_an_admin_changes_every_agent_but_reads_no_prompt(cast: Cast, agent: Agent) -> None:
    allow(cast.stranger, "change_agent")
    admin = as_person(cast.stranger)
    assert patch(admin, {"version": 1, "mission": "Sort."}).status == 200
    assert admin.get("/api/agents/sorter/told").status == 404
    assert "Sort." in as_person(cast.colleague).get("/api/agents/sorter/told").json["prompt"]


def test_what_runs_takes_a_permission(cast: Cast, agent: Agent) -> None:
    caller = as_person(cast.owner)
    refused = patch(caller, {"version": 1, "settings": {"command": ["sh"]}})
    assert (refused.status, refused.json["reason"]) == (403, "not_allowed")
    assert caller.post("/api/agents", {"slug": "x", "runtime": "still"}).status == 403
    allow(cast.owner, "add_agent")
    unfit = patch(caller, {"version": 1, "settings": {"command": ["sh"]}})
    assert (unfit.status, unfit.json["reason"]) == (422, "unfit")
    assert "no folder /srv/nowhere" in unfit.json["detail"]
    mended = patch(caller, {"version": 1, "settings": {"cwd": None}})
    assert (mended.status, mended.json["version"]) == (200, 2)
    assert Agent.objects.get(slug="sorter").settings["env"] == {"KEY": "s3cr3t-value"}


def test_the_second_of_two_edits_is_told_what_the_first_changed(cast: Cast, agent: Agent) -> None:
    assert patch(as_person(cast.owner), {"version": 1, "mission": "First."}).status == 200
    late = patch(as_person(cast.colleague), {"version": 1, "mission": "Second."})
    assert (late.status, late.json["reason"]) == (409, "changed")
    assert late.json["errors"][0]["field"] == "mission"
    assert cast.owner.username in late.json["errors"][0]["detail"]
    assert Agent.objects.get(slug="sorter").mission == "First."


def test_connecting(cast: Cast) -> None:
    allow(cast.owner, "add_agent")
    caller = as_person(cast.owner)
    body = {"slug": "new-one", "runtime": "markers", "settings": {"command": ["true"]}}
    made = caller.post("/api/agents", body)
    assert (made.status, made.json["lifecycle"]) == (200, "draft")
    again = caller.post("/api/agents", body)
    assert (again.status, again.json["errors"][0]["field"]) == (422, "slug")
    assert caller.post("/api/agents", {**body, "slug": "x", "runtime": "nothing"}).status == 422
    assert caller.post("/api/agents", {**body, "slug": "x", "owners": ["eve"]}).status == 422


def test_owners(cast: Cast, agent: Agent) -> None:
    caller = as_person(cast.owner)
    cast.stranger.groups.add(Group.objects.create(name="finance"))
    body = {"version": 1, "add_groups": ["finance"], "remove": [cast.colleague.username]}
    assert caller.post("/api/agents/sorter/owners", body).status == 200
    assert set(agent.owners.all()) == {cast.owner, cast.stranger}
    assert caller.post("/api/agents/sorter/owners", body).json["reason"] == "changed"
    everybody = [cast.owner.username, cast.stranger.username]
    nobody = caller.post("/api/agents/sorter/owners", {"version": 2, "remove": everybody})
    assert (nobody.status, agent.owners.count()) == (422, 2)
    missing = caller.post("/api/agents/sorter/owners", {"version": 2, "add": ["nobody\x00"]})
    assert missing.status == 422


def test_its_life(cast: Cast, agent: Agent) -> None:
    caller = as_person(cast.owner)
    controls.resume_agent(agent_id=agent.pk, by=cast.owner)
    for verb, state in (
        ("pause", "paused"),
        ("pause", "paused"),
        ("resume", "active"),
        ("retire", "retired"),
        ("restore", "paused"),
    ):
        answer = caller.post(f"/api/agents/sorter/{verb}")
        assert (answer.status, answer.json["lifecycle"]) == (200, state)
    caller.post("/api/agents/sorter/retire")
    assert caller.post("/api/agents/sorter/resume").json["reason"] == "state"
    assert caller.post("/api/agents/sorter/retry").json == {"started": 0}


def test_the_runtime_stays_while_a_run_waits(cast: Cast) -> None:
    allow(cast.owner, "add_agent")
    world.asked(cast.agent)
    body = {"version": 1, "runtime": "leaf", "settings": {}}
    answer = patch(as_person(cast.owner), body, cast.agent.slug)
    assert (answer.status, answer.json["reason"]) == (409, "busy")


@pytest.mark.parametrize("slug", ["missing", "a%00b", "a%0Ab", "A", "-", "x" * 300, "new"])
def test_odd_slugs_are_404_in_json(cast: Cast, slug: str) -> None:
    answer = as_person(cast.owner).get(f"/api/agents/{slug}")
    assert (answer.status, answer.json["reason"]) == (404, "not_found")
