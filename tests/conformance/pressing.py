"""The owner at a real browser: a remote agent's approval is in the queue, and one press answers it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

from tests.browser import NoBrowserError, driver, is_required, launch
from tests.e2e.presses import press_to_the_end

if TYPE_CHECKING:
    from asks.models import Ask

PATIENCE = 30_000.0


def press(ask: Ask, label: str) -> bool:
    """Press an option of an ask's card in the queue. False where there is no browser."""
    address, link = f"#ask-{ask.pk}", _entrance()
    try:
        with driver() as playwright, launch(playwright.chromium) as browser:
            page = browser.new_page(base_url=os.environ["BASE_URL"])
            page.set_default_timeout(PATIENCE)
            _sign_in(page, link)
            card = page.locator(address)
            button = card.get_by_role("button", name=re.compile(rf"^{re.escape(label)}\b"))
            press_to_the_end(page, button)
            expect(card).to_contain_text(f"answered {label}", timeout=PATIENCE)
    except NoBrowserError as error:
        if is_required():
            raise
        print(f"note a form is sent instead of a press: {error}")
        return False
    return True


def _entrance() -> str:
    """A link that signs the owner in, once. Made before the browser's event loop runs."""
    from django.contrib.auth.models import User

    from workspace.accounts.sign_in_links import issue_path

    return issue_path(User.objects.get(username="owner"))


def _sign_in(page: Page, link: str) -> None:
    page.goto(link)
    page.locator("main form button").click()
    page.wait_for_url("/")
