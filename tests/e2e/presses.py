"""Press as a reader does: an approval counts once all that it covers was in view."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def press_to_the_end(page: Page, button: Locator) -> None:
    """Press until the button is gone: each press that sends nothing shows the next part to read."""
    for _ in range(12):
        page.wait_for_timeout(700)
        if not button.count() or not button.is_enabled():
            return
        button.click()
