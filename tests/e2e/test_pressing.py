"""What a hand does is what is recorded: with a mouse, a key, an input method, and in a page that moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from asks.answering import answer_ask
from asks.claiming import claim_ask
from asks.drafts import ActionDraft
from asks.models import Ask, Verdict
from asks.withdrawing import withdraw_ask
from tests.e2e.conftest import NoErrors
from tests.e2e.hand.cards import FOLDED, TALL
from tests.live_server import LiveServer
from tests.pages import world
from tests.policies.world import asked, in_force, refund

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]
SHIFTS = """
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (!entry.hadRecentInput) window.shifted = (window.shifted || 0) + entry.value;
  }
}).observe({ type: "layout-shift", buffered: true });
"""

SEEN = """
row => {
  const box = row.getBoundingClientRect();
  const whole = box.top >= 0 && box.bottom <= innerHeight;
  window.sawIt ||= whole && row.contains(document.elementFromPoint(box.left + 2, box.top + 2));
  return window.sawIt;
}
"""


@pytest.fixture
def queue(page: Page, owner: User, sign_in: SignIn) -> Callable[..., Page]:
    """Opens the queue as its owner, and waits until it is live."""

    def go(path: str = "/") -> Page:
        sign_in(owner)
        page.goto(path)
        expect(page.locator(".rail [data-conn-words]")).to_have_text("Live")
        return page

    return go


def card(page: Page, ask: Ask) -> Locator:
    return page.locator(f"#ask-{ask.pk}")


def answers(ask: Ask) -> list[str]:
    """What was recorded for an ask."""
    found = Verdict.objects.filter(ask=ask).values_list("option__key", "text")
    return [key or text for key, text in found]


def approval(owner: User, params: dict[str, object], **rule: object) -> Ask:
    agent = world.agent_of(owner, slug="refund-desk")
    if rule:
        in_force(agent, refund(**rule))
    return asked(world.home(agent), ActionDraft("refund", params))


@pytest.mark.parametrize("at", [0.03, 0.97])
@pytest.mark.parametrize("label", ["EU ledger", "US ledger"])
def test_the_option_under_the_pointer_is_recorded_on_a_card_that_was_not_the_current_one(
    queue: Callable[..., Page], owner: User, label: str, at: float
) -> None:
    world.asked(world.agent_of(owner, slug="first"))
    second = world.asked(world.agent_of(owner, slug="second"))
    page = queue()
    button = card(page, second).get_by_role("button", name=label)
    box = button.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * at, box["y"] + box["height"] / 2)
    page.mouse.down()
    assert button.bounding_box() == box
    page.mouse.up()
    expect(card(page, second)).to_contain_text(f"owner answered {label}")


def test_a_button_that_moved_under_the_pointer_takes_no_press(
    queue: Callable[..., Page], owner: User
) -> None:
    ask = world.asked(world.agent_of(owner))
    page = queue()
    box = card(page, ask).get_by_role("button", name="US ledger").bounding_box()
    assert box
    page.mouse.move(box["x"] + 5, box["y"] + 10)
    page.mouse.down()
    page.evaluate("document.querySelector('main h1').append(' and so on')")
    page.evaluate("document.documentElement.style.fontSize = '20px'")
    page.mouse.up()
    expect(page.locator("#toasts")).to_contain_text("The page had just moved")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_timeout(300)
    assert answers(ask) == []


SETTLED: dict[str, Callable[[Ask, User], object]] = {
    "answered": lambda ask, by: answer_ask(ask_id=ask.pk, by=by, text="quick"),
    "withdrawn": lambda ask, by: withdraw_ask(ask_id=ask.pk, by=by, reason="Not needed."),
}


@pytest.mark.parametrize("how", sorted(SETTLED))
def test_typing_on_after_a_colleague_settled_the_card_decides_nothing(
    queue: Callable[..., Page], owner: User, how: str
) -> None:
    carl = world.person("carl")
    first = world.asked(world.agent_of(owner, carl, slug="first"), world.question(options=()))
    second = world.asked(world.agent_of(owner, carl, slug="second"))
    page = queue()
    words = card(page, first).get_by_label("Your answer")
    words.click()
    page.keyboard.type("sub")
    SETTLED[how](first, carl)
    expect(card(page, first).get_by_role("alert")).to_contain_text("What you typed is kept")
    page.keyboard.type("ject the last 1 of")
    expect(words).to_have_value("subject the last 1 of")
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(200)
    assert answers(second) == []
    assert Verdict.objects.filter(decided_by=owner).count() == 0
    assert page.url.endswith("/")


def test_keys_are_dead_once_a_field_is_gone_until_something_else_is_pressed(
    queue: Callable[..., Page], owner: User
) -> None:
    first = world.asked(world.agent_of(owner, slug="first"), world.question(options=()))
    second = world.asked(world.agent_of(owner, slug="second"))
    page = queue()
    card(page, first).get_by_label("Your answer").click()
    card(page, first).evaluate("card => card.remove()")
    page.keyboard.type("the last 1 of j1o")
    expect(page.locator("#toasts")).to_contain_text("keys do nothing")
    assert answers(second) == []
    assert page.url.endswith("/")
    page.wait_for_timeout(800)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    for _ in range(5):  # what has just moved takes no key, however long that lasts here
        if answers(second):
            break
        page.keyboard.press("1")
        page.wait_for_timeout(700)
    expect(card(page, second)).to_contain_text("owner answered EU ledger")


def test_a_key_approves_only_what_was_in_view(queue: Callable[..., Page], owner: User) -> None:
    world.asked(world.agent_of(owner, slug="first"))
    ask = approval(owner, TALL)
    page = queue()
    page.keyboard.press("j")
    for _ in range(40):
        if answers(ask):
            break
        was_seen = card(page, ask).get_by_text("echo 59").evaluate(SEEN)
        page.keyboard.press("1")
        page.wait_for_timeout(150)
        if not was_seen:
            assert answers(ask) == []
    assert answers(ask) == ["approve"]


def test_a_press_on_a_folded_approval_unfolds_it_first(
    queue: Callable[..., Page], owner: User
) -> None:
    ask = approval(owner, FOLDED)
    page = queue()
    button = card(page, ask).locator("[data-option]").first
    button.click()
    expect(card(page, ask).locator(".bound [data-fold]")).to_have_attribute("open", "")
    expect(page.locator("#toasts")).to_contain_text("Nothing was sent yet")
    assert answers(ask) == []
    for _ in range(8):
        page.wait_for_timeout(700)
        button.click()
        page.wait_for_timeout(200)
        if answers(ask):
            break
    assert answers(ask) == ["approve"]


def test_a_phone_without_scripts_shows_a_folded_action_before_it_counts(
    browser: Browser, context: BrowserContext, server: LiveServer, owner: User, sign_in: SignIn
) -> None:
    sign_in(owner)
    phone = browser.new_context(
        base_url=server.url,
        storage_state=context.storage_state(),
        java_script_enabled=False,
        viewport={"width": 390, "height": 844},
        has_touch=True,
    )
    ask = approval(owner, FOLDED)
    page = phone.new_page()
    page.goto("/")
    card(page, ask).locator("[data-option]").first.tap()
    expect(page.get_by_text("rm -rf build").first).to_be_visible()
    assert answers(ask) == []
    page.locator("[data-option]").first.tap()
    page.wait_for_url("**/")
    assert answers(ask) == ["approve"]
    phone.close()


@pytest.mark.parametrize("how", ["reload", "sign in again"])
def test_a_changed_value_is_kept_and_nothing_else_is_approved(
    queue: Callable[..., Page], owner: User, context: BrowserContext, sign_in: SignIn, how: str
) -> None:
    ask = approval(owner, {"charge": "ch_1", "amount": 1000, "notify": True}, may_edit=True)
    page = queue()
    card(page, ask).get_by_text("Change it before approving").click()
    card(page, ask).get_by_label("amount", exact=True).fill("10")
    card(page, ask).get_by_label("notify", exact=True).select_option("false")
    if how != "reload":
        context.clear_cookies(name="sessionid")
        sign_in(owner)
    page.reload()
    expect(card(page, ask).get_by_label("amount", exact=True)).to_have_value("10")
    card(page, ask).locator("[data-option]").first.click()
    expect(card(page, ask)).to_contain_text("You changed the call")
    card(page, ask).locator("[data-option]").first.click()
    expect(card(page, ask)).to_contain_text("owner answered")
    edit = Verdict.objects.get(ask=ask).edit
    assert edit is not None
    assert edit["edited"] == {"charge": "ch_1", "amount": 10, "notify": False}


def test_a_page_of_the_queue_stays_the_page_it_is(
    queue: Callable[..., Page], owner: User, no_errors: NoErrors
) -> None:
    agent = world.agent_of(owner)
    world.turn(agent, *[world.question(f"k{n}") for n in range(51)])
    page = queue("/?page=2")
    expect(page.locator("#cards > .card")).to_have_count(1)
    world.asked(world.agent_of(owner, slug="second"))
    expect(page.locator("#needs-badge")).to_have_attribute("data-count", "52")
    page.wait_for_timeout(300)
    assert page.locator("#cards > .card").count() == 1
    no_errors()


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_nothing_jumps_when_a_card_arrives_settles_or_leaves(
    page: Page, owner: User, sign_in: SignIn, no_errors: NoErrors, size: tuple[int, int]
) -> None:
    carl = world.person("carl")
    agents = [world.agent_of(owner, carl, slug=f"agent-{n}") for n in range(3)]
    asks = [world.asked(agent) for agent in agents[:2]]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.add_init_script(SHIFTS)
    sign_in(owner)
    page.goto("/")
    expect(page.locator("[data-conn][data-state=live]").first).to_be_attached()
    page.wait_for_timeout(800)
    page.evaluate("window.shifted = 0")
    below = card(page, asks[1]).bounding_box()
    answer_ask(ask_id=asks[0].pk, by=carl, option="eu")
    expect(card(page, asks[0])).to_contain_text("carl answered")
    assert card(page, asks[1]).bounding_box() == below
    world.asked(agents[2])
    expect(page.locator("#cards > .card[data-open]")).to_have_count(2)
    claim_ask(ask_id=asks[1].pk, by=carl)
    expect(card(page, asks[1])).to_contain_text("Claimed by carl")
    expect(card(page, asks[0])).to_have_count(0, timeout=15_000)
    page.wait_for_timeout(600)
    assert page.evaluate("window.shifted") < 0.02
    no_errors()


def test_back_shows_what_is_true_now(queue: Callable[..., Page], owner: User) -> None:
    ask = world.asked(world.agent_of(owner))
    page = queue()
    page.get_by_role("link", name="Decisions").first.click()
    answer_ask(ask_id=ask.pk, by=owner, option="eu")
    page.go_back()
    expect(page.locator("#needs-badge")).to_have_attribute("data-count", "0")
    assert page.locator("[data-option]").count() == 0


def test_the_page_of_one_ask_is_live(queue: Callable[..., Page], owner: User) -> None:
    carl = world.person("carl")
    ask = world.asked(world.agent_of(owner, carl))
    page = queue(f"/asks/{ask.pk}/")
    withdraw_ask(ask_id=ask.pk, by=carl, reason="Not needed.")
    expect(card(page, ask)).to_contain_text("carl withdrew the question")
    assert page.locator("[data-option]").count() == 0


COMPOSING = [
    {"isComposing": True, "keyCode": 13},
    {"isComposing": False, "keyCode": 229},
]


@pytest.mark.parametrize("said", COMPOSING)
@pytest.mark.parametrize("key", ["Enter", "1"])
def test_nothing_is_sent_while_an_input_method_composes(
    queue: Callable[..., Page], owner: User, key: str, said: dict[str, object]
) -> None:
    world.asked(world.agent_of(owner, slug="first"))
    ask = world.asked(world.agent_of(owner, slug="second"), world.question(options=()))
    page = queue()
    card(page, ask).get_by_label("Your answer").fill("ka")
    target = "document.querySelector('textarea')" if key == "Enter" else "document.body"
    page.evaluate(
        f"said => {target}.dispatchEvent(new KeyboardEvent('keydown',"
        f" {{ key: '{key}', ctrlKey: '{key}' === 'Enter', bubbles: true, cancelable: true, ...said }}))",
        said,
    )
    page.wait_for_timeout(200)
    assert Verdict.objects.count() == 0
    assert page.url.endswith("/")
    expect(page.locator(".card[aria-current]")).to_have_id(f"ask-{ask.pk}")
