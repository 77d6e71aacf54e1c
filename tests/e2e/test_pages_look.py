"""Every page in a real browser, light and dark, wide and narrow: reachable, nothing spills, no errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Permission, User
from playwright.sync_api import Browser, Page, expect

from asks.answering import answer_ask
from asks.drafts import OptionDraft
from asks.lifecycle import Style
from tests.e2e.conftest import NoErrors
from tests.live_server import LiveServer
from tests.pages import world

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture
def addresses(owner: User) -> list[str]:
    """A page of each kind, with something of everything on it."""
    owner.user_permissions.add(Permission.objects.get(codename="add_agent"))
    agent = world.agent_of(owner, slug="refund-desk")
    danger = OptionDraft("abort", "Abort run", "Nothing is kept.", style=Style.DANGER)
    long_word = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 3
    ask = world.asked(
        agent,
        world.approval(),
        world.question(
            "k1", f"# {long_word}\n\n`{long_word}`\n\n| a | b |\n|---|---|\n| {long_word} | 2 |"
        ),
        world.question("k2", "In words?", ()),
        world.question("k3", options=(*world.RELEASE, danger), free_text=True),
        world.question("k4", options=tuple(OptionDraft(f"o{n}", long_word) for n in range(13))),
    )
    done = world.asked(world.agent_of(owner, slug="sorter"))
    answer_ask(ask_id=done.pk, by=owner, option="nope")
    answer_ask(ask_id=done.pk, by=owner, option="eu")
    blocked = world.agent_of(owner, slug="indexer")
    world.turn(blocked, report="The login was revoked.")
    world.notice(blocked, "Two lines have no receipt.")
    world.agent_of(owner, slug="idle")
    return [
        "/",
        f"/asks/{ask.pk}/",
        f"/asks/{done.pk}/",
        "/agents/",
        "/agents/new",
        "/agents/refund-desk/",
        f"/sessions/{world.home(agent).pk}/",
        f"/sessions/{world.home(blocked).pk}/",
        "/decisions/",
        "/backlog/",
        "/delegations/",
        "/hours",
        "/decisions/?show=refused",
        "/nothing/here",
    ]


def complaints(page: Page) -> list[str]:
    """What axe finds on a page: the address, the rule, the elements."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [
        f"{page.url} {rule['id']}: {' | '.join(node['html'][:160] for node in rule['nodes'])}"
        for rule in found
    ]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.case("C107")
def test_pages_are_accessible(
    page: Page, owner: User, sign_in: SignIn, addresses: list[str], width: int, colours: str
) -> None:
    sign_in(owner)
    # So tall that no control stands half under a bar that sticks to the edge.
    page.set_viewport_size({"width": width, "height": 6000})
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
    found = []
    for address in addresses:
        page.goto(address)
        found += complaints(page)
    assert found == []


@pytest.mark.parametrize("width", [320, 390, 900, 1024, 1280, 1728])
@pytest.mark.case("C96")
def test_nothing_spills_sideways(
    page: Page, owner: User, sign_in: SignIn, addresses: list[str], width: int
) -> None:
    sign_in(owner)
    page.set_viewport_size({"width": width, "height": 800})
    for address in addresses:
        page.goto(address)
        spill = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert spill <= 0, address


def test_no_page_reports_an_error(
    page: Page, owner: User, sign_in: SignIn, addresses: list[str], no_errors: NoErrors
) -> None:
    sign_in(owner)
    for address in addresses[:-1]:
        page.goto(address)
        page.wait_for_load_state("networkidle")
    no_errors()


def test_signing_in_is_accessible(page: Page) -> None:
    page.goto("/login")
    assert complaints(page) == []


def test_everything_can_be_done_without_scripts(
    browser: Browser, server: LiveServer, owner: User, sign_in: SignIn, page: Page
) -> None:
    sign_in(owner)
    ask = world.asked(world.agent_of(owner), world.question(options=world.RELEASE, free_text=True))
    context = browser.new_context(java_script_enabled=False, base_url=server.url)
    context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    plain = context.new_page()
    plain.goto("/")
    plain.get_by_text("Answer in words").click()
    plain.get_by_label("Your answer").fill("mind the index")
    plain.get_by_role("button", name="Drop the table").click()
    expect(plain.get_by_role("alert")).to_contain_text("Press again to be sure.")
    plain.get_by_role("button", name="Go back").click()
    expect(plain.get_by_label("Your answer")).to_have_value("mind the index")
    plain.get_by_role("button", name="Drop the table").click()
    plain.get_by_role("button", name="Drop the table").click()
    expect(plain.locator("#toasts")).to_contain_text("Recorded: Drop the table.")
    plain.goto(f"/sessions/{ask.session_id}/")
    expect(plain.locator("#stream")).to_contain_text("mind the index")
    plain.get_by_label("Write to ledger-close").fill("go on")
    plain.get_by_role("button", name="Send").click()
    expect(plain.locator("#stream")).to_contain_text("go on")
    context.close()


def test_colours_can_be_chosen_and_are_kept(page: Page, owner: User, sign_in: SignIn) -> None:
    sign_in(owner)
    page.goto("/")
    page.locator(".rail .menu > summary").click()
    page.locator(".rail").get_by_role("button", name="Dark").click()
    page.goto("/agents/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
