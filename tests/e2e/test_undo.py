"""Undo in a real browser: it counts down, the key and the button take back, and it works without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Locator, Page, expect

from agents.models import Agent, Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Retraction, Verdict
from tests.e2e.conftest import NoErrors
from tests.factories import AgentFactory, AskFactory, home_of
from tests.live_server import LiveServer, ManagedProcess
from workspace.accounts.undo_preference import set_undo_window

SignIn = Callable[[User], None]
PATIENCE = 30_000

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def session(owner: User, sign_in: SignIn) -> Session:
    """A session of an owner who is signed in and has twenty seconds."""
    agent: Agent = AgentFactory(slug="ledger", owners=[owner])
    set_undo_window(owner, 20)
    sign_in(owner)
    return home_of(agent)


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def toast(page: Page) -> Locator:
    return page.locator("#toasts [data-undo]")


def card(page: Page, ask: Ask) -> Locator:
    return page.locator(f"#ask-{ask.pk}")


def press(page: Page, ask: Ask, name: str = "EU ledger") -> None:
    page.goto("/")
    page.wait_for_timeout(700)  # a card that just came takes no press
    card(page, ask).get_by_role("button", name=name).click()
    expect(toast(page)).to_be_visible(timeout=PATIENCE)


def is_open_again(page: Page, ask: Ask) -> None:
    expect(page.locator(f"#ask-{ask.pk}[data-open]")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("You took back EU ledger. Nothing was started.")).to_be_visible()
    expect(page.locator("[data-undo]")).to_have_count(0)
    assert Ask.objects.get(pk=ask.pk).status == AskStatus.OPEN
    assert ask.session.runs.count() == 1


def test_it_counts_down(page: Page, asked: Ask, no_errors: NoErrors) -> None:
    press(page, asked)
    number = toast(page).locator("[data-undo-seconds]")
    first = int(number.inner_text())
    assert 15 <= first <= 20
    expect(number).to_have_text(str(first - 2), timeout=PATIENCE)
    assert asked.session.runs.count() == 1
    no_errors()


def test_the_key_takes_back(page: Page, asked: Ask, no_errors: NoErrors) -> None:
    press(page, asked)
    page.keyboard.press("u")
    is_open_again(page, asked)
    page.keyboard.press("u")
    page.wait_for_timeout(300)
    assert Retraction.objects.count() == 1
    no_errors()


@pytest.mark.parametrize("place", ["toast", "card"])
def test_the_button_takes_back(page: Page, asked: Ask, place: str, no_errors: NoErrors) -> None:
    press(page, asked)
    where = toast(page) if place == "toast" else card(page, asked).locator("[data-undo]")
    page.wait_for_timeout(700)
    where.get_by_role("button", name="Take back").click()
    is_open_again(page, asked)
    page.wait_for_timeout(700)
    card(page, asked).get_by_role("button", name="US ledger").click()
    expect(toast(page)).to_be_visible(timeout=PATIENCE)
    assert Verdict.objects.latest("pk").option_label == "US ledger"
    no_errors()


def test_what_was_typed_is_there_again(page: Page, session: Session, no_errors: NoErrors) -> None:
    asked = AskFactory(session=session, options=())
    page.goto("/")
    field = card(page, asked).locator("textarea[name=text]")
    field.fill("Close it against the EU ledger.")
    field.press("Control+Enter")
    expect(toast(page)).to_be_visible(timeout=PATIENCE)
    toast(page).get_by_role("button", name="Take back").click()
    again = page.locator(f"#ask-{asked.pk}[data-open] textarea[name=text]")
    expect(again).to_have_value("Close it against the EU ledger.", timeout=PATIENCE)
    page.reload()
    expect(again).to_have_value("Close it against the EU ledger.", timeout=PATIENCE)
    no_errors()


def test_letters_that_are_typed_take_nothing_back(page: Page, session: Session) -> None:
    asked = AskFactory(session=session)
    other = AskFactory(session=session, options=())
    press(page, asked)
    card(page, other).locator("textarea[name=text]").press_sequentially("uuu")
    page.wait_for_timeout(300)
    assert not Retraction.objects.exists()


def test_start_now_ends_the_wait(page: Page, asked: Ask, no_errors: NoErrors) -> None:
    press(page, asked)
    toast(page).get_by_role("button", name="Start now").click()
    expect(page.locator("[data-undo]")).to_have_count(0, timeout=PATIENCE)
    assert asked.session.runs.count() == 2
    no_errors()


def test_at_the_end_of_the_window_the_agent_starts(
    page: Page, asked: Ask, owner: User, worker: ManagedProcess, no_errors: NoErrors
) -> None:
    set_undo_window(owner, 3)
    press(page, asked)
    expect(page.locator("[data-undo]")).to_have_count(0, timeout=PATIENCE)
    page.keyboard.press("u")
    for _ in range(100):
        if asked.session.events.filter(kind="verdict").exists():
            break
        page.wait_for_timeout(200)
    assert asked.session.events.filter(kind="verdict").exists()
    assert not Retraction.objects.exists()
    no_errors()


def test_too_late_is_said(page: Page, asked: Ask) -> None:
    """Another tab has started it meanwhile."""
    press(page, asked)
    elsewhere = page.context.new_page()
    elsewhere.goto(f"/asks/{asked.pk}/")
    elsewhere.get_by_role("button", name="Start now").first.click()
    page.bring_to_front()
    page.keyboard.press("u")
    expect(page.get_by_text("It already started.")).to_be_visible(timeout=PATIENCE)
    assert not Retraction.objects.exists()


def test_another_tab_shows_the_question_again(page: Page, asked: Ask) -> None:
    elsewhere = page.context.new_page()
    elsewhere.goto("/")
    expect(elsewhere.locator("[data-conn][data-state=live]").first).to_be_attached(timeout=PATIENCE)
    press(page, asked)
    expect(elsewhere.locator(f"#ask-{asked.pk}:not([data-open])")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("u")
    expect(elsewhere.locator(f"#ask-{asked.pk}[data-open]")).to_be_visible(timeout=PATIENCE)
    expect(elsewhere.locator(f"#ask-{asked.pk}")).to_have_count(1)


def test_without_scripts(browser: Browser, server: LiveServer, page: Page, asked: Ask) -> None:
    cookies = page.context.cookies()
    context = browser.new_context(java_script_enabled=False, base_url=server.url)
    context.add_cookies(cookies)  # type: ignore[arg-type]
    plain = context.new_page()
    plain.goto("/")
    plain.locator(f"#ask-{asked.pk}").get_by_role("button", name="EU ledger").click()
    expect(plain.locator("#toasts")).to_contain_text(re.compile(r"It takes effect in \d+ s"))
    plain.locator("#toasts").get_by_role("button", name="Take back").click()
    expect(plain.locator(f"#ask-{asked.pk}[data-open]")).to_be_visible()
    plain.locator(f"#ask-{asked.pk}").get_by_role("button", name="US ledger").click()
    plain.locator("#toasts").get_by_role("button", name="Start now").click()
    assert asked.session.runs.count() == 2
    assert Verdict.objects.count() == 2
    context.close()
