"""A session's page in a real browser: it goes on by itself, over lost sockets and restarts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from playwright.sync_api import BrowserContext, Page, Route, WebSocketRoute, expect

from agents.events.log import record_event
from agents.lifecycle import Outcome
from agents.locking import lock_session
from agents.models import Session
from tests.e2e.conftest import NoErrors
from tests.live_server import LiveServer
from tests.pages import world

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]
PATIENCE = 30_000


@pytest.fixture
def session(owner: User) -> Session:
    return world.home(world.agent_of(owner))


@pytest.fixture
def thread(page: Page, owner: User, session: Session, sign_in: SignIn) -> Page:
    """The page of the session, live."""
    sign_in(owner)
    page.goto(f"/sessions/{session.pk}/")
    expect(page.locator(".rail [data-conn-words]")).to_have_text("Live")
    return page


def say(session: Session, text: str, kind: str = "report") -> None:
    with transaction.atomic():
        record_event(lock_session(session.pk), kind, actor="agent:ledger-close", text=text)


def all_there(page: Page, session: Session) -> None:
    """Every event of the session once and in order, and the guard against repeats had no work."""
    session.refresh_from_db()
    last = page.locator(f'#stream > li[data-seq="{session.last_seq}"]')
    expect(last).to_be_attached(timeout=PATIENCE)
    items = page.locator("#stream > li")
    seqs = items.evaluate_all("items => items.map(item => Number(item.dataset.seq))")
    assert seqs == list(range(1, session.last_seq + 1))
    assert page.evaluate("window.repeatedEvents || 0") == 0


def test_what_happens_appears(thread: Page, session: Session, no_errors: NoErrors) -> None:
    say(session, "Read **6 orders**.")
    say(session, "line one\n", kind="output")
    expect(thread.locator("#stream")).to_contain_text("Read 6 orders.")
    expect(thread.locator("#stream")).to_contain_text("line one")
    all_there(thread, session)
    no_errors()


def test_an_ask_brings_its_card_and_changes_the_status(
    thread: Page, session: Session, no_errors: NoErrors
) -> None:
    ask = world.asked(session.agent)
    expect(thread.locator("#session-state")).to_contain_text("Waiting for you")
    thread.locator(f"#ask-{ask.pk}").get_by_role("button", name="EU ledger").click()
    expect(thread.locator("#stream")).to_contain_text("owner answered EU ledger")
    expect(thread.locator("#session-state")).to_contain_text("Queued")
    all_there(thread, session)
    no_errors()


def test_a_message_is_sent_and_seen_without_a_reload(thread: Page, session: Session) -> None:
    thread.get_by_label("Write to ledger-close").fill("Use EU.")
    thread.get_by_label("Write to ledger-close").press("Control+Enter")
    expect(thread.locator("#stream")).to_contain_text("Use EU.")
    expect(thread.get_by_label("Write to ledger-close")).to_have_value("")
    all_there(thread, session)


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_server_that_restarts_costs_no_event(
    thread: Page, session: Session, server: LiveServer, end: str
) -> None:
    for round_number in range(2):
        say(session, f"before {round_number}")
        getattr(server, end)()
        say(session, f"while it is away {round_number}")
        expect(thread.locator(".rail [data-conn-words]")).to_have_text("Reconnecting")
        server.start()
        say(session, f"after {round_number}")
        all_there(thread, session)
        expect(thread.locator(".rail [data-conn-words]")).to_have_text("Live")


def test_words_being_typed_survive_a_restart(
    thread: Page, session: Session, server: LiveServer
) -> None:
    box = thread.get_by_label("Write to ledger-close")
    box.fill("half a sentence")
    server.kill()
    server.start()
    say(session, "I am back")
    all_there(thread, session)
    expect(box).to_have_value("half a sentence")
    expect(box).to_be_focused()


@pytest.fixture
def polling(page: Page, owner: User, sign_in: SignIn) -> None:
    """The owner is signed in; no socket can be had, and the page asks every fifth of a second."""
    sign_in(owner)

    def refuse(socket: WebSocketRoute) -> None:
        socket.close(code=1011)

    page.route_web_socket("**/ws/**", refuse)
    hurry = "document.documentElement.dataset.pollEvery = '200'"
    page.add_init_script(f"addEventListener('readystatechange', () => {{ {hurry} }}, true)")


@pytest.mark.usefixtures("polling")
def test_without_sockets_the_page_asks_every_few_seconds(page: Page, session: Session) -> None:
    page.goto(f"/sessions/{session.pk}/")
    say(session, "over plain HTTP")
    expect(page.locator("#stream")).to_contain_text("over plain HTTP")
    expect(page.locator(".rail [data-conn-words]")).to_have_text("Checking every few seconds")
    all_there(page, session)


@pytest.mark.usefixtures("polling")
def test_a_page_that_asks_goes_on_asking_while_sockets_are_refused(
    page: Page, session: Session
) -> None:
    """Each refusal began the wait for a socket anew, in which nothing was asked."""
    page.goto(f"/sessions/{session.pk}/")
    words = page.locator(".rail [data-conn-words]")
    expect(words).to_have_text("Checking every few seconds")
    words.evaluate(
        """place => {
            window.wordsSeen = [];
            const note = () => window.wordsSeen.push(place.textContent);
            new MutationObserver(note).observe(place, {childList: true, characterData: true});
        }"""
    )
    with page.expect_request("**/events?*"):
        page.wait_for_timeout(3000)
    assert page.evaluate("window.wordsSeen") == []


@pytest.mark.usefixtures("polling")
def test_what_is_answered_slowly_is_not_asked_again_meanwhile(page: Page, session: Session) -> None:
    def slowly(route: Route) -> None:
        answer = route.fetch()
        page.wait_for_timeout(700)
        route.fulfill(response=answer)

    page.route("**/events?*", slowly)
    page.goto(f"/sessions/{session.pk}/")
    for word in ("one", "two", "three"):
        say(session, f"{word} over a slow line")
        expect(page.locator("#stream")).to_contain_text(f"{word} over a slow line")
    all_there(page, session)
    page.unroute_all(behavior="ignoreErrors")


@pytest.mark.usefixtures("polling")
def test_what_is_never_answered_is_asked_again(page: Page, session: Session) -> None:
    """The first of the page's questions goes into a connection that is dead and not closed."""
    lost: list[Route] = []

    def never_the_first(route: Route) -> None:
        if not lost:
            lost.append(route)
        else:
            route.continue_()

    page.route("**/events?*", never_the_first)
    page.goto(f"/sessions/{session.pk}/")
    say(session, "after a dead line")
    expect(page.locator("#stream")).to_contain_text("after a dead line")
    assert lost
    all_there(page, session)
    page.unroute_all(behavior="ignoreErrors")


def test_a_silent_socket_is_given_up(
    page: Page, owner: User, session: Session, sign_in: SignIn
) -> None:
    opened: list[WebSocketRoute] = []

    def first_is_dead(socket: WebSocketRoute) -> None:
        opened.append(socket)
        if len(opened) > 1:
            socket.connect_to_server()

    page.route_web_socket("**/ws/**", first_is_dead)
    hurry = "document.documentElement.dataset.silence = '1000'"
    page.add_init_script(f"addEventListener('readystatechange', () => {{ {hurry} }}, true)")
    sign_in(owner)
    page.goto(f"/sessions/{session.pk}/")
    say(session, "said into the void")
    expect(page.locator("#stream")).to_contain_text("said into the void", timeout=PATIENCE)
    all_there(page, session)


def test_signing_out_elsewhere_is_said(
    thread: Page, context: BrowserContext, session: Session
) -> None:
    elsewhere = context.new_page()
    elsewhere.goto("/agents/")
    elsewhere.locator(".rail .menu > summary").click()
    elsewhere.locator(".rail").get_by_role("button", name="Sign out").click()
    expect(elsewhere).to_have_url("/login")
    expect(thread.get_by_text("You are signed out. What you typed is kept")).to_be_visible()
    back = thread.get_by_role("link", name="Sign in again")
    expect(back).to_have_attribute("href", f"/login?next=/sessions/{session.pk}/")


def test_the_reader_at_the_end_stays_there(thread: Page, session: Session) -> None:
    for number in range(40):
        say(session, f"line {number}")
    all_there(thread, session)
    thread.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    say(session, "the latest of all")
    expect(thread.get_by_text("the latest of all")).to_be_in_viewport()


def test_a_run_that_ends_is_said(thread: Page, session: Session) -> None:
    world.turn(session.agent, outcome=Outcome.NO_WORK, report="Nothing to do today.")
    expect(thread.locator("#stream")).to_contain_text("Nothing to do today.")
    expect(thread.locator("#session-state")).to_contain_text("Manual")
    all_there(thread, session)
