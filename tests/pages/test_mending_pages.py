"""An agent is edited, shared, retired and restored on its page, by those who may and by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from agents.lifecycle import InboxKind, InboxState, Outcome, Status
from agents.mending.masking import MASK
from agents.models import Agent, InboxItem
from agents.running import runtime
from asks.models import Ask, LedgerRecord
from asks.policies.versions import add_version
from tests.pages import world
from tests.pages.conftest import signed_in
from tests.pages.html import Element, read
from tests.pages.test_failing_agents import fail
from workspace.apps import RUNTIMES

pytestmark = pytest.mark.django_db

AT = "/agents/ledger-close"


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    found = world.agent_of(owner, colleague)
    found.settings = {"command": ["true"], "cwd": "/srv/nowhere", "env": {"KEY": "s3cr3t-value"}}
    found.save()
    return found


@pytest.fixture
def admin(db: None) -> User:
    """Somebody who owns nothing and may change every agent."""
    return with_permission(world.person("ada"), "change_agent")


def with_permission(person: User, codename: str) -> User:
    person.user_permissions.add(Permission.objects.get(codename=codename))
    return User.objects.get(pk=person.pk)


def form_of(client: Client, path: str) -> dict[str, str]:
    """The fields of the page's last form, as a browser would send them."""
    form = read(client.get(path).content).one("main").all("form")[-1]
    boxes = {one.attrs["name"] for one in form.all("input", type="checkbox")}
    return {name: text for name, text in form.fields().items() if name not in boxes}


def post(client: Client, path: str, **changes: object) -> tuple[int, Element]:
    response = client.post(path, {**form_of(client, path), **changes}, follow=True)
    return response.status_code, read(response.content).one("main")


DOORS = [
    ("get", "/edit"),
    ("post", "/edit"),
    ("get", "/owners"),
    ("post", "/owners"),
    ("get", "/retire"),
    ("post", "/retire"),
    ("post", "/restore"),
    ("post", "/pause"),
    ("post", "/resume"),
    ("get", "/told"),
]


@pytest.mark.parametrize(("method", "door"), DOORS)
@pytest.mark.parametrize("who", ["owner", "colleague", "admin"])
def test_those_who_may(
    request: pytest.FixtureRequest, agent: Agent, who: str, method: str, door: str
) -> None:
    client = signed_in(request.getfixturevalue(who))
    response = getattr(client, method)(f"{AT}{door}")
    if who == "admin" and door == "/told":
        assert response.status_code == 404  # what it is told is for its owners
    else:
        assert response.status_code in ({200} if method == "get" else {302, 409, 422})


@pytest.mark.parametrize(("method", "door"), DOORS)
def test_strangers_and_visitors_find_nothing(
    as_stranger: Client, client: Client, agent: Agent, method: str, door: str
) -> None:
    assert getattr(as_stranger, method)(f"{AT}{door}").status_code == 404
    assert getattr(client, method)(f"{AT}{door}").status_code in {302, 401}
    agent.refresh_from_db()
    assert (agent.version, agent.lifecycle, agent.owners.count()) == (1, "active", 2)
    assert not LedgerRecord.objects.exists()


def test_staff_without_the_permission_are_strangers(agent: Agent, stranger: User) -> None:
    stranger.is_staff = True
    stranger.save()
    assert signed_in(stranger).get(f"{AT}/edit").status_code == 404


def test_a_typo_is_mended_on_the_page(agent: Agent, owner: User, tmp_path: Path) -> None:
    client = signed_in(with_permission(owner, "add_agent"))
    fail(agent, cannot_start=True)
    card = read(client.get("/").content).one("article", id=f"agent-{agent.pk}")
    assert card.one("a", href=f"{AT}/edit")
    status, page = post(client, f"{AT}/edit", cwd=str(tmp_path))
    assert status == 200
    assert str(tmp_path) in page.words
    assert Agent.objects.get().settings["env"] == {"KEY": "s3cr3t-value"}
    assert world.home(agent).status == Status.QUEUED
    assert "settings.cwd" in page.one("section", **{"aria-labelledby": "g-changes"}).words
    world.turn(agent, outcome=Outcome.WORK_DONE)
    assert not read(client.get("/").content).all("article", id=f"agent-{agent.pk}")


def test_secrets_are_not_on_the_page(agent: Agent, owner: User) -> None:
    client = signed_in(with_permission(owner, "add_agent"))
    content = client.get(f"{AT}/edit").content.decode()
    assert f"KEY={MASK}" in content
    assert "s3cr3t-value" not in content
    assert "s3cr3t-value" not in client.get(f"{AT}/").content.decode()


def test_what_cannot_start_is_said_and_can_be_insisted_on(agent: Agent, owner: User) -> None:
    client = signed_in(with_permission(owner, "add_agent"))
    status, page = post(client, f"{AT}/edit", mission="Sort.", cwd="/srv/also-nowhere")
    assert status == 422
    assert "There is no folder /srv/also-nowhere." in page.one("span", id="id_cwd_error").words
    assert page.one("textarea", name="mission").words == "Sort."
    assert Agent.objects.get().version == 1
    post(client, f"{AT}/edit", mission="Sort.", cwd="/srv/also-nowhere", insist="yes")
    assert Agent.objects.get().settings["cwd"] == "/srv/also-nowhere"


def test_an_owner_without_the_permission_changes_words_but_not_what_runs(
    agent: Agent, as_owner: Client
) -> None:
    page = read(as_owner.get(f"{AT}/edit").content).one("main")
    assert not page.all(name="command")
    assert "people who may connect agents" in page.words
    post(as_owner, f"{AT}/edit", mission="Sort.", command="rm -rf /", runtime="eve", agent="a.b:c")
    changed = Agent.objects.get()
    assert (changed.mission, changed.runtime) == ("Sort.", "markers")
    assert changed.settings == agent.settings


def test_two_edits_at_once(agent: Agent, as_owner: Client, as_colleague: Client) -> None:
    mine = form_of(as_owner, f"{AT}/edit")
    theirs = form_of(as_colleague, f"{AT}/edit")
    as_owner.post(f"{AT}/edit", {**mine, "mission": "Close October."})
    response = as_colleague.post(f"{AT}/edit", {**theirs, "mission": "Close November."})
    assert response.status_code == 409
    page = read(response.content).one("main")
    assert "olga" in page.one("div", **{"class": "note"}).words
    assert "Close October." in page.one("div", **{"class": "note"}).words
    assert page.one("textarea", name="mission").words == "Close November."
    assert Agent.objects.get().mission == "Close October."
    again = page.all("form")[-1].fields()
    assert as_colleague.post(f"{AT}/edit", again).status_code == 302
    assert Agent.objects.get().mission == "Close November."


def test_a_policy_that_the_form_cannot_show_stays(agent: Agent, as_owner: Client) -> None:
    policy = {"kind": "schedule", "every_seconds": 90, "cron": None, "time_zone": "Europe/Berlin"}
    Agent.objects.filter(pk=agent.pk).update(wake_policy=policy)
    post(as_owner, f"{AT}/edit", mission="Sort.")
    assert Agent.objects.get().wake_policy == policy
    post(as_owner, f"{AT}/edit", wake="manual")
    assert Agent.objects.get().wake_policy == {"kind": "manual"}


@pytest.mark.parametrize("key", sorted(RUNTIMES))
def test_every_runtime_has_its_form(owner: User, key: str) -> None:
    client = signed_in(with_permission(owner, "add_agent"))
    page = read(client.get(f"/agents/new?runtime={key}").content).one("main")
    fields = runtime.find_runtime(key).settings_model.model_fields
    assert all(page.all(name=name) for name in fields)
    response = client.post("/agents/new", {"slug": "x", "runtime": key, "wake": "manual"})
    required = [name for name, info in fields.items() if info.is_required()]
    assert response.status_code == (422 if required else 302)


def test_an_unknown_runtime_is_404(owner: User) -> None:
    client = signed_in(with_permission(owner, "add_agent"))
    assert client.get("/agents/new?runtime=nothing").status_code == 404


def test_another_runtime(agent: Agent, owner: User) -> None:
    client = signed_in(with_permission(owner, "add_agent"))
    status, _ = post(client, f"{AT}/edit?runtime=leaf")
    assert status == 200
    changed = Agent.objects.get()
    assert (changed.runtime, changed.settings["model"]) == ("leaf", "scripted")


def test_owners_by_picker(
    agent: Agent, as_owner: Client, owner: User, colleague: User, stranger: User
) -> None:
    group = Group.objects.create(name="finance")
    gina = world.person("gina")
    gina.groups.add(group)
    page = read(as_owner.get(f"{AT}/owners").content).one("main")
    assert {"carl", "finance", "gina", "olga", "sam"} <= set(page.words.split())
    base = form_of(as_owner, f"{AT}/owners")
    change = {"stay": [owner.pk], "people": [stranger.pk], "groups": [group.pk]}
    assert as_owner.post(f"{AT}/owners", {**base, **change}).status_code == 302
    assert set(agent.owners.all()) == {owner, stranger, gina}
    stale = as_owner.post(f"{AT}/owners", {**base, "stay": [owner.pk]})
    assert (stale.status_code, agent.owners.count()) == (409, 3)


def test_somebody_active_remains(agent: Agent, as_owner: Client, colleague: User) -> None:
    User.objects.filter(pk=colleague.pk).update(is_active=False)
    base = form_of(as_owner, f"{AT}/owners")
    response = as_owner.post(f"{AT}/owners", {**base, "stay": [colleague.pk]})
    assert response.status_code == 422
    assert "needs an active owner" in read(response.content).one("main").words
    assert agent.owners.count() == 2


def test_who_removes_themselves_loses_the_page(
    agent: Agent, as_owner: Client, colleague: User
) -> None:
    base = form_of(as_owner, f"{AT}/owners")
    response = as_owner.post(f"{AT}/owners", {**base, "stay": [colleague.pk]})
    assert response["Location"] == "/agents/"
    assert as_owner.get(f"{AT}/").status_code == 404


def test_retiring_says_what_it_ends_and_restoring_brings_it_back(
    agent: Agent, as_owner: Client
) -> None:
    world.asked(agent)
    assert "1 open question is withdrawn" in read(as_owner.get(f"{AT}/retire").content).words
    as_owner.post(f"{AT}/retire")
    assert (Agent.objects.get().lifecycle, Ask.objects.get().status) == ("retired", "withdrawn")
    page = read(as_owner.get(f"{AT}/").content).one("main")
    assert page.one("form", action=f"{AT}/restore")
    assert not page.all("a", href=f"{AT}/retire")
    as_owner.post(f"{AT}/restore")
    assert (Agent.objects.get().lifecycle, world.home(agent).state) == ("paused", "active")


def test_an_admin_sees_settings_but_no_sessions(agent: Agent, admin: User) -> None:
    ask = world.asked(agent)
    client = signed_in(admin)
    words = read(client.get(f"{AT}/").content).one("main").words
    assert "you do not own it" in words
    assert ask.prompt not in words
    assert client.get(f"/sessions/{ask.session_id}/").status_code == 404


def test_what_it_is_told(agent: Agent, as_owner: Client) -> None:
    Agent.objects.filter(pk=agent.pk).update(mission="Close <b>October</b>.")
    session = world.home(agent)
    as_owner.post(f"/sessions/{session.pk}/message", {"text": "Mind the gap."})
    words = read(as_owner.get(f"{AT}/told").content).one("main").words
    for expected in ("Close <b>October</b>.", "Mind the gap.", "OUTCOME: WORK_DONE"):
        assert expected in words
    assert session.inbox.get().state == "queued"


def test_words_of_a_confidential_decision_are_not_told(agent: Agent, owner: User) -> None:
    Group.objects.create(name="board")
    rules = {"terms": {"answered_by": "group:board", "confidential": True}}
    add_version(agent_id=agent.pk, rules=rules, why="Board only.", by=owner)
    ask = world.asked(agent)
    InboxItem.objects.create(
        session_id=ask.session_id,
        kind=InboxKind.VERDICT,
        state=InboxState.QUEUED,
        author="human:gina",
        body="the secret words",
        data={"ask_id": ask.pk, "prompt": "the secret question", "text": "the secret words"},
    )
    content = signed_in(owner).get(f"{AT}/told").content.decode()
    assert "the secret" not in content
    assert "confidential decision" in content


@pytest.mark.parametrize("key", ["markers", "responses", "leaf", "eve-remote", "responses-remote"])
def test_runtimes_show_what_they_tell(agent: Agent, as_owner: Client, key: str) -> None:
    settings = {"base_url": "http://127.0.0.1:9"} if key.endswith("remote") else {}
    if key in {"markers", "responses"}:
        settings = {"command": ["true"]}  # type: ignore[dict-item]
    Agent.objects.filter(pk=agent.pk).update(runtime=key, settings=settings, mission="Sort it all.")
    page = read(as_owner.get(f"{AT}/told").content).one("main")
    assert not page.all("div", **{"class": "note"})
    assert ("Sort it all." in page.words) == (key != "leaf")
