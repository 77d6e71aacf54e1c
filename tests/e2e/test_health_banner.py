"""An open page hears that the worker is gone, and that one is back, without anything moving."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.e2e.conftest import NoErrors
from tests.live_server import ManagedProcess
from tests.pages import world

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SOON = 40_000  # milliseconds: a worker is missed after 15 s, and a page asks every 5 s
SHIFTED = """() => {
  window.shifted = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifted += one.value; })
    .observe({type: "layout-shift", buffered: false});
}"""


def test_a_worker_that_dies_and_comes_back(
    page: Page,
    worker: ManagedProcess,
    sign_in: Callable[[User], None],
    owner: User,
    no_errors: NoErrors,
) -> None:
    world.asked(world.agent_of(owner))
    sign_in(owner)
    page.goto("/")
    banner = page.locator("#health")
    expect(banner).not_to_contain_text("No worker runs", timeout=SOON)
    page.reload()
    expect(banner).to_have_text("")
    page.evaluate(SHIFTED)
    button = page.get_by_role("button", name="EU ledger")
    before = button.bounding_box()
    worker.kill()
    expect(banner).to_contain_text("No worker runs", timeout=SOON)
    assert button.bounding_box() == before
    worker.start()
    expect(banner).to_have_text("", timeout=SOON)
    assert button.bounding_box() == before

    worker.kill()
    expect(banner).to_contain_text("No worker runs", timeout=SOON)
    page.reload()
    page.evaluate(SHIFTED)
    before = button.bounding_box()
    worker.start()
    expect(banner).to_contain_text("works again", timeout=SOON)
    assert button.bounding_box() == before
    assert page.evaluate("window.shifted") < 0.02
    no_errors()
