"""The queue in a real browser: keys, cards that come and go, words that are kept."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from asks.answering import answer_ask
from asks.models import Ask, Verdict
from tests.e2e.conftest import NoErrors
from tests.pages import world

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]


@pytest.fixture
def queue(page: Page, owner: User, sign_in: SignIn) -> Callable[[], Page]:
    """Opens the queue as its owner, and waits until it is live."""

    def go() -> Page:
        sign_in(owner)
        page.goto("/")
        expect(page.locator(".rail [data-conn-words]")).to_have_text("Live")
        return page

    return go


def card(page: Page, ask: Ask) -> Locator:
    return page.locator(f"#ask-{ask.pk}")


def waiting(page: Page, count: int) -> None:
    """The badge and the title say how many cards wait."""
    expect(page.locator("#needs-badge")).to_have_attribute("data-count", str(count))
    title = f"({count}) Needs you" if count else "Needs you"
    expect(page).to_have_title(title)
    words = {0: "Nothing waits on you.", 1: "1 decision waits"}.get(
        count, f"{count} decisions wait"
    )
    expect(page.locator("main > header")).to_contain_text(words, use_inner_text=True)


def test_a_click_answers_and_only_that_card_changes(
    queue: Callable[[], Page], owner: User, no_errors: NoErrors
) -> None:
    first = world.asked(world.agent_of(owner, slug="first"))
    second = world.asked(world.agent_of(owner, slug="second"), world.question(options=()))
    page = queue()
    waiting(page, 2)
    words = card(page, second).get_by_label("Your answer")
    words.fill("half a sentence")
    card(page, first).get_by_role("button", name="EU ledger").click()
    expect(card(page, first)).to_contain_text("owner answered EU ledger")
    expect(page.locator("#toasts")).to_contain_text(
        "Recorded: EU ledger. first continues when a worker runs."
    )
    waiting(page, 1)
    expect(words).to_have_value("half a sentence")
    no_errors()


@pytest.mark.parametrize("path", ["/agents/", "/decisions/"])
def test_every_other_page_says_live_how_many_wait(
    page: Page, owner: User, sign_in: SignIn, no_errors: NoErrors, path: str
) -> None:
    agent = world.agent_of(owner)
    sign_in(owner)
    page.goto(path)
    expect(page.locator(".rail [data-conn-words]")).to_have_text("Live")
    ask = world.asked(agent)
    expect(page.locator("#needs-badge")).to_have_attribute("data-count", "1")
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    answer_ask(ask_id=ask.pk, by=owner, option="eu")
    expect(page.locator("#needs-badge")).to_have_attribute("data-count", "0")
    expect(page).to_have_title(re.compile(r"^[^(]"))
    no_errors()


def test_the_settled_card_holds_the_focus_and_leaves_once_nobody_is_at_it(
    queue: Callable[[], Page], owner: User
) -> None:
    ask = world.asked(world.agent_of(owner))
    page = queue()
    card(page, ask).get_by_role("button", name="EU ledger").press("Enter")
    expect(card(page, ask)).to_be_focused()
    page.get_by_role("link", name="Decisions").first.focus()
    expect(card(page, ask)).to_have_count(0, timeout=15_000)
    expect(page.get_by_text("Nothing waits on you", exact=True)).to_be_visible()


def test_a_double_click_answers_once(queue: Callable[[], Page], owner: User) -> None:
    ask = world.asked(world.agent_of(owner))
    page = queue()
    card(page, ask).get_by_role("button", name="EU ledger").dblclick()
    expect(card(page, ask)).to_contain_text("owner answered EU ledger")
    assert Verdict.objects.filter(ask=ask).count() == 1


def test_a_blank_answer_is_said_and_the_field_is_at_hand(
    queue: Callable[[], Page], owner: User, no_errors: NoErrors
) -> None:
    ask = world.asked(world.agent_of(owner), world.question(options=()))
    page = queue()
    card(page, ask).get_by_label("Your answer").fill("  \u200b ")
    card(page, ask).get_by_role("button", name="Send answer").click()
    expect(card(page, ask).get_by_role("alert")).to_contain_text(
        "An empty answer is not an answer."
    )
    assert not Verdict.objects.exists()
    no_errors(allowed="422")


def test_a_destructive_answer_is_pressed_twice(queue: Callable[[], Page], owner: User) -> None:
    ask = world.asked(world.agent_of(owner), world.question(options=world.RELEASE))
    page = queue()
    card(page, ask).get_by_role("button", name="Drop the table").click()
    expect(card(page, ask).get_by_role("alert")).to_contain_text("Press again to be sure.")
    assert not Verdict.objects.exists()
    sure = card(page, ask).get_by_role("button", name="Drop the table")
    expect(sure).to_be_focused()
    sure.press("Enter")
    expect(card(page, ask)).to_contain_text("owner answered Drop the table")


def test_keys_move_and_choose(queue: Callable[[], Page], owner: User) -> None:
    first = world.asked(world.agent_of(owner, slug="first"))
    second = world.asked(world.agent_of(owner, slug="second"))
    page = queue()
    expect(card(page, first)).to_have_attribute("aria-current", "true")
    page.keyboard.press("j")
    expect(card(page, second)).to_be_focused()
    page.keyboard.press("2")
    expect(card(page, second)).to_contain_text("owner answered US ledger")
    page.keyboard.press("k")
    expect(card(page, first)).to_have_attribute("aria-current", "true")
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile(f"/sessions/{first.session_id}/"))


@pytest.mark.case("C106")
def test_a_key_pressed_twice_answers_no_other_card(queue: Callable[[], Page], owner: User) -> None:
    first = world.asked(world.agent_of(owner, slug="first"))
    second = world.asked(world.agent_of(owner, slug="second"))
    page = queue()
    page.keyboard.press("1")
    page.keyboard.press("1")
    expect(card(page, first)).to_contain_text("owner answered EU ledger")
    page.keyboard.press("1")
    expect(card(page, second).get_by_role("button", name="EU ledger")).to_be_enabled()
    assert Verdict.objects.count() == 1


@pytest.mark.case("C106")
def test_keys_do_nothing_while_one_types_or_holds_a_modifier(
    queue: Callable[[], Page], owner: User
) -> None:
    ask = world.asked(world.agent_of(owner), world.question(free_text=True))
    page = queue()
    for chord in ("Control+1", "Alt+1", "Meta+1"):
        page.keyboard.press(chord)
    card(page, ask).get_by_text("Answer in words").click()
    words = card(page, ask).get_by_label("Your answer")
    words.press_sequentially("1 jk o?")
    expect(words).to_have_value("1 jk o?")
    expect(page.locator("#shortcuts")).to_be_hidden()
    assert not Verdict.objects.exists()
    words.press("Control+Enter")
    expect(card(page, ask)).to_contain_text("1 jk o?")


def test_the_list_of_keys(queue: Callable[[], Page], owner: User) -> None:
    world.asked(world.agent_of(owner))
    page = queue()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    assert not Verdict.objects.exists()


@pytest.mark.case("C102", "C107")
def test_a_new_ask_arrives_below_and_disturbs_nobody(
    queue: Callable[[], Page], owner: User, no_errors: NoErrors
) -> None:
    first = world.asked(world.agent_of(owner, slug="first"), world.question(options=()))
    page = queue()
    words = card(page, first).get_by_label("Your answer")
    words.fill("half a sen")
    before = words.bounding_box()
    second = world.asked(world.agent_of(owner, slug="second"))
    expect(card(page, second)).to_be_visible()
    expect(page.locator("#announce")).to_have_text("1 new ask")
    waiting(page, 2)
    expect(words).to_be_focused()
    page.keyboard.type("tence")
    expect(words).to_have_value("half a sentence")
    assert words.bounding_box() == before
    ids = page.locator("#cards > .card").evaluate_all("cards => cards.map(card => card.id)")
    assert ids == [f"ask-{first.pk}", f"ask-{second.pk}"]
    card(page, second).get_by_role("button", name="EU ledger").click()
    expect(card(page, second)).to_contain_text("owner answered EU ledger")
    no_errors()


def test_the_first_ask_of_all_arrives_in_an_empty_queue(
    queue: Callable[[], Page], owner: User
) -> None:
    agent = world.agent_of(owner)
    page = queue()
    ask = world.asked(agent)
    expect(card(page, ask)).to_be_visible()
    expect(page.locator("#cards + .empty")).to_be_hidden()
    waiting(page, 1)


def test_another_tab_sees_the_card_go(
    queue: Callable[[], Page], owner: User, context: BrowserContext
) -> None:
    ask = world.asked(world.agent_of(owner))
    here = queue()
    there = context.new_page()
    there.goto("/")
    here.bring_to_front()
    card(here, ask).get_by_role("button", name="US ledger").click()
    expect(card(there, ask)).to_contain_text("owner answered US ledger")
    waiting(there, 0)


def test_words_typed_into_a_card_that_a_colleague_answers_are_not_lost(
    queue: Callable[[], Page], owner: User
) -> None:
    colleague = world.person("carl")
    ask = world.asked(world.agent_of(owner, colleague), world.question(options=()))
    page = queue()
    card(page, ask).get_by_label("Your answer").fill("my careful words")
    answer_ask(ask_id=ask.pk, by=colleague, text="quick words")
    held = card(page, ask).get_by_role("alert")
    expect(held).to_contain_text("carl answered: quick words What you typed is kept")
    expect(card(page, ask).get_by_role("button", name="Send answer")).to_be_disabled()
    page.keyboard.type(", and more")
    expect(card(page, ask).get_by_label("Your answer")).to_have_value("my careful words, and more")
    page.get_by_role("heading", name="Needs you", exact=True).click()
    expect(card(page, ask)).to_contain_text("carl answered")
    expect(card(page, ask)).to_contain_text("Not sent, typed by you: my careful words, and more")


def test_a_draft_outlives_a_reload_and_is_gone_once_sent(
    queue: Callable[[], Page], owner: User
) -> None:
    agent = world.agent_of(owner)
    ask = world.asked(agent, world.question(options=()))
    page = queue()
    card(page, ask).get_by_label("Your answer").fill("half a sentence")
    page.reload()
    expect(card(page, ask).get_by_label("Your answer")).to_have_value("half a sentence")
    card(page, ask).get_by_role("button", name="Send answer").click()
    expect(card(page, ask)).to_contain_text("owner answered")
    # htmx tells of what it has put in a moment after it is there.
    page.wait_for_function("Object.keys(sessionStorage).every((key) => !key.includes('draft'))")


def test_an_answer_that_cannot_be_sent_says_so_and_can_be_sent_again(
    queue: Callable[[], Page], owner: User
) -> None:
    ask = world.asked(world.agent_of(owner), world.question(options=()))
    page = queue()
    card(page, ask).get_by_label("Your answer").fill("my words")
    page.route("**/answer", lambda route: route.abort())
    card(page, ask).get_by_role("button", name="Send answer").click()
    expect(card(page, ask).get_by_role("alert")).to_contain_text("cannot be reached")
    expect(card(page, ask).get_by_label("Your answer")).to_have_value("my words")
    page.unroute("**/answer")
    card(page, ask).get_by_role("button", name="Send answer").click()
    expect(card(page, ask)).to_contain_text("my words")
    expect(card(page, ask)).to_contain_text("owner answered")


@pytest.mark.case("C104")
def test_while_one_answer_is_under_way_another_card_can_be_answered(
    queue: Callable[[], Page], owner: User
) -> None:
    slow = world.asked(world.agent_of(owner, slug="slow"))
    quick = world.asked(world.agent_of(owner, slug="quick"))
    page = queue()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/asks/{slow.pk}/answer", hold)
    card(page, slow).get_by_role("button", name="EU ledger").click()
    expect(card(page, slow).get_by_role("button", name="US ledger")).to_be_disabled()
    card(page, quick).get_by_role("button", name="EU ledger").click()
    expect(card(page, quick)).to_contain_text("owner answered EU ledger")
    held[0].continue_()
    expect(card(page, slow)).to_contain_text("owner answered EU ledger")


def test_a_signed_out_tab_says_so_on_the_card(
    queue: Callable[[], Page], owner: User, context: BrowserContext
) -> None:
    ask = world.asked(world.agent_of(owner), world.question(options=()))
    page = queue()
    card(page, ask).get_by_label("Your answer").fill("my words")
    context.clear_cookies(name="sessionid")
    card(page, ask).get_by_role("button", name="Send answer").click()
    expect(card(page, ask).get_by_role("alert")).to_contain_text("You are signed out")
    expect(card(page, ask).get_by_label("Your answer")).to_have_value("my words")
    assert not Verdict.objects.exists()


def test_the_pane_follows_the_current_card(queue: Callable[[], Page], owner: User) -> None:
    world.asked(world.agent_of(owner, slug="first"))
    world.asked(world.agent_of(owner, slug="second"))
    page = queue()
    expect(page.locator("#pane-t")).to_have_text("first")
    page.keyboard.press("j")
    expect(page.locator("#pane-t")).to_have_text("second")


@pytest.mark.case("C89")
def test_agents_words_run_nothing(
    queue: Callable[[], Page], owner: User, no_errors: NoErrors
) -> None:
    evil = "<img src=x onerror=alert(1)> <script>alert(1)</script> [x](javascript:alert(1))"
    ask = world.asked(world.agent_of(owner), world.question(prompt=evil))
    page = queue()
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    expect(card(page, ask)).to_contain_text("<script>alert(1)</script>")
    no_errors()
