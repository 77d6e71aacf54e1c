"""An agent with a typo is a card; its owner mends it in the browser, with and without JavaScript."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, Permission, User
from playwright.sync_api import Browser, Page, expect

from agents.lifecycle import Outcome
from agents.models import Agent
from tests.e2e.conftest import NoErrors
from tests.e2e.test_pages_look import complaints
from tests.live_server import LiveServer
from tests.pages import world
from tests.pages.test_failing_agents import fail

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]


@pytest.fixture
def agent(owner: User) -> Agent:
    """An agent whose folder has a typo, and which has failed by it."""
    owner.user_permissions.set(Permission.objects.filter(codename__in=["add_agent"]))
    found = world.agent_of(owner, slug="refund-desk")
    found.settings = {"command": ["true"], "cwd": "/srv/nowhere", "env": {"API_KEY": "hidden"}}
    found.mission = "Refund what is owed."
    found.save()
    fail(found, cannot_start=True)
    Group.objects.create(name="finance")
    world.person("carl")
    return found


def keep(page: Page, name: str) -> None:
    """Store a screenshot where somebody wants to look at it."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_of_mending(
    page: Page, owner: User, sign_in: SignIn, agent: Agent, width: int, no_errors: NoErrors
) -> None:
    sign_in(owner)
    owner.user_permissions.add(Permission.objects.get(codename="change_agent"))
    owner.is_staff = True
    owner.save()
    gone = world.person("gone")
    world.asked(world.agent_of(gone, slug="orphan"))
    User.objects.filter(pk=gone.pk).update(is_active=False)
    page.emulate_media(reduced_motion="reduce")
    found = []
    for name, address in {
        "card": "/",
        "agent": "/agents/refund-desk/",
        "edit": "/agents/refund-desk/edit",
        "edit-leaf-remote": "/agents/refund-desk/edit?runtime=leaf-remote",
        "connect-responses": "/agents/new?runtime=responses",
        "owners": "/agents/refund-desk/owners",
        "retire": "/agents/refund-desk/retire",
        "told": "/agents/refund-desk/told",
        "handover": "/handover/",
    }.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        page.wait_for_load_state("networkidle")
        spill = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert spill <= 0, address
        keep(page, f"{name}-{width}")
        page.set_viewport_size({"width": width, "height": 6000})
        found += complaints(page)
    assert found == []
    no_errors()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_typo_is_mended(
    browser: Browser,
    server: LiveServer,
    page: Page,
    owner: User,
    sign_in: SignIn,
    agent: Agent,
    tmp_path: Path,
    *,
    scripts: bool,
) -> None:
    sign_in(owner)
    context = browser.new_context(java_script_enabled=scripts, base_url=server.url)
    context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    mine = context.new_page()
    mine.goto("/")
    card = mine.locator(f"#agent-{agent.pk}")
    expect(card).to_contain_text("The working folder /srv/nowhere does not exist.")
    card.get_by_role("link", name="Edit").click()
    mine.get_by_label("Folder it runs in").fill("/srv/also-nowhere")
    mine.get_by_role("button", name="Save", exact=True).click()
    expect(mine.locator("main")).to_contain_text("There is no folder /srv/also-nowhere.")
    keep(mine, f"unfit-{scripts}")
    mine.get_by_label("Folder it runs in").fill(str(tmp_path))
    mine.get_by_role("button", name="Save", exact=True).click()
    expect(mine.locator("#toasts")).to_contain_text("refund-desk is saved.")
    expect(mine.locator("main")).to_contain_text("settings.cwd")
    keep(mine, f"saved-{scripts}")
    mine.goto("/")
    expect(card).to_contain_text("A new attempt is under way.")
    world.turn(agent, outcome=Outcome.WORK_DONE)
    if not scripts:
        mine.goto("/")
        expect(card).to_have_count(0)
    else:
        expect(card).to_contain_text("It does not fail any more.")
    mine.goto("/agents/refund-desk/retire")
    mine.get_by_role("button", name="Retire it").click()
    expect(mine.get_by_role("button", name="Restore")).to_be_visible()
    mine.get_by_role("button", name="Restore").click()
    expect(mine.get_by_role("button", name="Resume")).to_be_visible()
    context.close()


def test_two_edits_at_once_show_the_difference(
    page: Page, owner: User, sign_in: SignIn, agent: Agent
) -> None:
    sign_in(owner)
    page.goto("/agents/refund-desk/edit")
    other = page.context.new_page()
    other.goto("/agents/refund-desk/edit")
    other.get_by_label("Mission").fill("Refund nothing.")
    other.get_by_label("Folder it runs in").fill("")
    other.get_by_role("button", name="Save", exact=True).click()
    expect(other.locator("#toasts")).to_contain_text("is saved")
    page.get_by_label("Mission").fill("Refund everything.")
    page.get_by_role("button", name="Save", exact=True).click()
    note = page.locator("main .note")
    expect(note).to_contain_text("Somebody else changed this agent")
    expect(note).to_contain_text("Refund nothing.")
    expect(page.get_by_label("Mission")).to_have_value("Refund everything.")
    keep(page, "two-edits")
