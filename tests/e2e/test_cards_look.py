"""Cards of calls in a real browser: changes, patches, JSON and code, narrow and wide, light and dark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from asks.drafts import ActionDraft
from asks.models import Ask
from tests.e2e.conftest import NoErrors
from tests.e2e.test_pages_look import complaints
from tests.pages import world
from tests.policies.world import in_force

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]

UNFOLD = """
document.querySelectorAll("[data-unfold]:not([hidden])").forEach(it => it.click());
document.querySelectorAll(".bound details").forEach(it => it.open = true);
"""
#: By how many pixels the last number of each list is wider than the room in front of its items.
CUT = """
Array.from(document.querySelectorAll(".words ol"), (list) => {
  const style = getComputedStyle(list);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const left = (node) => node.getBoundingClientRect().left;
  const room = left(list.firstElementChild) - left(list.closest(".words"));
  const last = `${list.start + list.children.length - 1}. `;
  return style.listStylePosition === "inside" ? 0 : pen.measureText(last).width - room;
})
"""
OLD = "def pay(amount):\n    # in euros\n    total = amount * 1.19\n    return send(total, 'EUR')\n"
NEW = OLD.replace("pay(amount)", "pay(amount, rate=1.19)").replace("1.19\n", "rate   \n")
LONG_OLD = "".join(f"line {n}: the same words again and again\n" for n in range(60))
LONG_NEW = LONG_OLD.replace("line 5:", "LINE 5:").replace("line 40: the", "line 40: other")
PATCH = """diff --git a/app/pay.py b/app/pay.py
index 3b18e51..a9c7f3e 100644
--- a/app/pay.py
+++ b/app/pay.py
@@ -1,4 +1,4 @@ class Payments:
 def pay(amount):
-    total = amount * 1.19
+    total = amount * rate(amount)
     return send(total)

@@ -20,3 +20,4 @@
 x = "text"
+y = None  # a new line
 z = 3
 w = True
"""
CALLS: dict[str, dict[str, Any]] = {
    "edit": {"file_path": "app/pay.py", "old_string": OLD, "new_string": NEW, "replace_all": False},
    "edit_long": {"before": LONG_OLD, "after": LONG_NEW},
    "apply_patch": {"patch": PATCH},
    "write": {
        "path": "config.json",
        "content": json.dumps({"a": [1, 2, {"deep": True}], "name": "Söhne", "n": 1.50}),
    },
    "bash": {"command": '#!/bin/bash\nset -eu\nfor f in *.log; do\n  rm -f "$f" # gone\ndone\n'},
    "refund": {
        "amount": "48.00",
        "currency": "EUR",
        "customer": "Brandt & Söhne",
        "to": {"iban": "DE89"},
    },
    "send": {"to": ["a@example.com", "b@example.com"], "body": "Dear all,\n\nplease pay.\n" * 20},
}


def ask_all(owner: User) -> list[Ask]:
    agent = world.agent_of(owner, slug="coder")
    rule = {
        "operation": "refund",
        "headline": "Refund {amount} {currency} to {customer}",
        "approve_label": "Refund {amount} {currency}",
        "reject_label": "Do not refund",
        "reversible": False,
        "danger": True,
    }
    in_force(agent, rule)
    drafts = [world.approval(name, ActionDraft(name, call)) for name, call in CALLS.items()]
    world.turn(agent, *drafts)
    return list(Ask.objects.order_by("pk"))


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_calls_are_accessible_and_nothing_spills(
    page: Page, owner: User, sign_in: SignIn, width: int, colours: str, no_errors: NoErrors
) -> None:
    asks = ask_all(owner)
    sign_in(owner)
    page.set_viewport_size({"width": width, "height": 6000})
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
    found = []
    for address in ["/", *(f"/asks/{ask.pk}/" for ask in asks)]:
        page.goto(address)
        page.evaluate(UNFOLD)
        found += complaints(page)
        spill = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert spill <= 0, address
        if folder := os.environ.get("SCREENSHOTS"):
            name = f"{address.strip('/').replace('/', '-') or 'queue'}-{width}-{colours}.png"
            page.locator("main").screenshot(path=Path(folder) / name)
    assert found == []
    no_errors()


def test_changes_stand_side_by_side_where_there_is_room(
    page: Page, owner: User, sign_in: SignIn
) -> None:
    edit = ask_all(owner)[0]
    sign_in(owner)
    for width, beside in ((1280, True), (390, False)):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"/asks/{edit.pk}/")
        old, new = (page.locator(f".{name}").first.bounding_box() for name in ("d-old", "d-new"))
        assert old is not None
        assert new is not None
        assert (old["x"] + old["width"] <= new["x"] + 1) is beside
        assert (old["y"] == new["y"]) is beside


def test_a_fold_opens_with_the_keyboard(page: Page, owner: User, sign_in: SignIn) -> None:
    long = ask_all(owner)[1]
    sign_in(owner)
    page.goto(f"/asks/{long.pk}/")
    fold = page.locator("details[data-fold]").nth(1)
    expect(fold.locator(".lines")).to_be_hidden()
    fold.locator("summary").press("Enter")
    expect(fold.locator(".lines")).to_be_visible()


def test_no_number_of_a_list_is_cut(page: Page, owner: User, sign_in: SignIn) -> None:
    lists = ("\n".join(f"{n}. step" for n in range(1, most + 1)) for most in (12, 120))
    drafts = [world.question(f"k{n}", text) for n, text in enumerate(lists)]
    world.turn(world.agent_of(owner), *drafts, world.question("k9", "98765. step\n98766. step"))
    sign_in(owner)
    page.goto("/")
    cut = page.evaluate(CUT)
    assert len(cut) >= 3
    assert max(cut) <= 0
