"""A person changes a call and approves it, in a real browser: with scripts and, on a phone, without."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, expect

from asks.drafts import ActionDraft
from asks.models import Ask, Grant, Refusal, Verdict
from tests.e2e.conftest import NoErrors
from tests.e2e.presses import press_to_the_end
from tests.live_server import LiveServer
from tests.pages import world
from tests.policies.world import asked, in_force, refund

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
PARAMS = {
    "charge": "ch_1",
    "amount": 48,
    "notify": True,
    "to": {"name": "Ada Lovelace", "lines": ["1 Road", "Town"]},
    "script": "echo a long line of a script; " * 60,
}


@pytest.fixture
def ask(owner: User) -> Ask:
    agent = world.agent_of(owner, slug="refund-desk")
    in_force(agent, refund(may_edit=True))
    return asked(world.home(agent), ActionDraft("refund", PARAMS))


@pytest.fixture
def phone_without_scripts(
    browser: Browser, context: BrowserContext, server: LiveServer, owner: User, sign_in: SignIn
) -> Iterator[Page]:
    """A small screen on which the owner is signed in."""
    sign_in(owner)
    phone = browser.new_context(
        base_url=server.url,
        storage_state=context.storage_state(),
        java_script_enabled=False,
        viewport={"width": 390, "height": 844},
        has_touch=True,
    )
    yield phone.new_page()
    phone.close()


def change(page: Page, ask: Ask, amount: str) -> None:
    """Type an amount and press approve."""
    card = page.locator(f"#ask-{ask.pk}")
    if not card.locator(".edit[open]").count():
        card.get_by_text("Change it before approving").click()
    card.get_by_label("amount", exact=True).fill(amount)
    card.get_by_role("button", name="Approve once").click()


def looks_right(page: Page) -> None:
    """Nothing spills over the edge, and axe finds nothing."""
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wrong_change_is_said_and_a_right_one_is_approved(
    page: Page, owner: User, sign_in: SignIn, ask: Ask, no_errors: NoErrors, scheme: str
) -> None:
    # What fades in is looked at when it is there.
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    sign_in(owner)
    page.goto("/")
    card = page.locator(f"#ask-{ask.pk}")
    change(page, ask, "lots")
    expect(card).to_contain_text("Your answer was not used.")
    amount = card.get_by_label("amount", exact=True)
    expect(amount).to_have_value("lots")
    expect(amount).to_have_accessible_description("It must be a number.")
    looks_right(page)
    change(page, ask, "12.5")
    expect(card).to_contain_text("You changed the call. This is what you approve:")
    expect(card.get_by_role("button", name="Approve once, as changed")).to_be_focused()
    looks_right(page)
    press_to_the_end(page, card.get_by_role("button", name="Approve once, as changed"))
    expect(card).to_contain_text("The call was changed before it was approved.")
    looks_right(page)
    assert Grant.objects.get().params == {**PARAMS, "amount": 12.5}
    assert Refusal.objects.get().reason == "bad_edit"
    no_errors(allowed="422")


def test_without_scripts_on_a_phone_it_is_the_same(phone_without_scripts: Page, ask: Ask) -> None:
    page = phone_without_scripts
    page.goto("/")
    change(page, ask, "lots")
    card = page.locator(f"#ask-{ask.pk}")
    expect(card).to_contain_text("It must be a number.")
    expect(card.get_by_label("amount", exact=True)).to_have_value("lots")
    change(page, ask, "12.5")
    expect(card).to_contain_text("You changed the call. This is what you approve:")
    card.get_by_role("button", name="Go back").click()
    expect(card.get_by_label("amount", exact=True)).to_have_value("12.5")
    change(page, ask, "13")
    card.get_by_role("button", name="Approve once, as changed").click()
    expect(page.locator("body")).to_contain_text("Recorded: Approve once.")
    verdict = Verdict.objects.get()
    assert verdict.edit is not None
    assert verdict.edit["edited"] == {**PARAMS, "amount": 13}
    assert Grant.objects.get().params == {**PARAMS, "amount": 13}
