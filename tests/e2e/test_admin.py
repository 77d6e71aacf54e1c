"""The admin in a browser: its pages break no rule of our content security policy, and can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.admin import world
from tests.live_server import LiveServer

pytestmark = pytest.mark.e2e


@pytest.fixture
def root(transactional_db: None) -> User:
    world.fill(2)
    return world.person("root", root=True)


@pytest.fixture
def page(page: Page, root: User, sign_in: Callable[[User], None]) -> Iterator[Page]:
    """A page of somebody signed in, on which nothing may be complained about."""
    sign_in(root)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert complaints == []


def test_every_page_loads_without_a_complaint(page: Page) -> None:
    for address in ("/admin/", *(f"/admin/{listed}/" for listed in world.PAGES)):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200
        first = page.locator("#result_list tbody th a").first
        if first.count():
            first.click()
            expect(page.locator("#content")).to_contain_text("What belongs to it")
    page.goto("/admin/auth/user/")
    page.locator("#result_list tbody th a").first.click()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_visible()


def test_decisions_of_one_person(page: Page) -> None:
    page.goto("/admin/asks/verdict/")
    expect(page.locator("#result_list tbody tr")).to_have_count(2)
    page.locator(".select2-selection").click()
    page.keyboard.type("owner-1")
    page.get_by_role("option", name="owner-1").click()
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    expect(page.locator("#result_list")).to_contain_text("owner-1")
    page.get_by_role("link", name="Everybody").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(2)


def test_the_way_in_is_the_one_sign_in(page: Page, server: LiveServer) -> None:
    page.context.clear_cookies()
    page.goto("/admin/asks/verdict/")
    expect(page).to_have_url(f"{server.url}/login?next=/admin/asks/verdict/")
