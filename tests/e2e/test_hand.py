"""A press records what was pressed, whatever happens meanwhile.

`HAND_STEPS` makes a run long, `HAND_SEED` chooses another one; 0 draws it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import SystemRandom

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page

from tests.e2e.conftest import NoErrors
from tests.e2e.hand.cards import Cast
from tests.e2e.hand.hand import Hand
from tests.live_server import LiveServer
from tests.pages import world

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]
STEPS = int(os.environ.get("HAND_STEPS", "25"))
SEED = int(os.environ.get("HAND_SEED", "7")) or SystemRandom().randrange(1, 10**6)


@pytest.fixture
def cast(owner: User) -> Cast:
    return Cast(owner, world.person("carl"))


def test_a_mouse_and_a_keyboard_record_what_was_pressed(
    page: Page, cast: Cast, sign_in: SignIn, no_errors: NoErrors
) -> None:
    sign_in(cast.owner)
    Hand(page, cast, SEED).work(STEPS)
    assert [text for text in no_errors.found if "Security Policy" in text] == []


def test_a_finger_records_what_was_pressed(
    browser: Browser, context: BrowserContext, server: LiveServer, cast: Cast, sign_in: SignIn
) -> None:
    sign_in(cast.owner)
    phone = browser.new_context(
        base_url=server.url,
        storage_state=context.storage_state(),
        viewport={"width": 390, "height": 844},
        has_touch=True,
    )
    Hand(phone.new_page(), cast, SEED, touch=True).work(STEPS)
    phone.close()
