"""The gaps between words can be seen, at one pixel per point too, in every font of every page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page

from tests.live_server import LiveServer
from tests.pages import world

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

#: The least gap between two words, as a share of the font's size.
LEAST = 0.2
#: Tracking is allowed from this size on, in pixels.
TRACKED_FROM = 18

#: For each font in use: a text of it, its size, its tracking, and the gap between two words.
FONTS = """() => {
  const seen = new Map();
  for (const element of document.querySelectorAll("body *")) {
    const own = Array.from(element.childNodes).find((n) => n.nodeType === 3 && n.data.trim().includes(" "));
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const look = ["fontFamily", "fontSize", "fontWeight", "letterSpacing", "wordSpacing"];
    look.push("fontFeatureSettings", "textRendering");
    const key = look.map((name) => style[name]).join("|");
    if (seen.has(key)) continue;
    const width = (text) => {
      const probe = document.createElement("span");
      for (const name of look) probe.style[name] = style[name];
      probe.style.cssText += "; position: absolute; white-space: pre; padding: 0";
      probe.textContent = text;
      document.body.append(probe);
      const wide = probe.getBoundingClientRect().width;
      probe.remove();
      return wide;
    };
    seen.set(key, {
      text: own.data.trim().slice(0, 40), key, size: parseFloat(style.fontSize),
      tracking: parseFloat(style.letterSpacing) || 0,
      gap: width("d d d d d t") - width("dddddt"),
    });
  }
  return Array.from(seen.values());
}"""
GAPS = 5


@pytest.mark.parametrize("scale", [1, 2])
def test_gaps_are_seen(
    browser: Browser,
    server: LiveServer,
    sign_in: Callable[[User], None],
    owner: User,
    page: Page,
    scale: int,
) -> None:
    ask = world.asked(world.agent_of(owner), world.approval())
    world.asked(world.agent_of(owner, slug="second"))
    sign_in(owner)
    context = browser.new_context(
        device_scale_factor=scale, storage_state=page.context.storage_state(), base_url=server.url
    )
    looked_at = 0
    try:
        screen = context.new_page()
        for path in (
            "/",
            f"/asks/{ask.pk}/",
            f"/sessions/{ask.session_id}/",
            "/agents/",
            "/decisions/",
        ):
            screen.goto(path)
            screen.evaluate("document.fonts.ready")
            for font in screen.evaluate(FONTS):
                looked_at += 1
                assert font["gap"] / GAPS >= LEAST * font["size"], font
                assert font["tracking"] >= 0 or font["size"] >= TRACKED_FROM, font
    finally:
        context.close()
    assert looked_at > 20
