"""What authority looks like to those who have it: votes, claims, drift, gates, proofs and hours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Locator, Page, expect

from agents.db.expressions import database_now
from agents.models import Agent, Session
from asks import answering, claiming, delegation
from asks.drafts import ActionDraft
from asks.models import Ask, Verdict
from tests.e2e.conftest import OWNERS_PASSWORD, NoErrors
from tests.factories import echo_of
from tests.live_server import LiveServer
from tests.pages import world
from tests.policies.world import asked, in_force
from workspace.pages.account.reauthentication import KEY as PROVED_AT

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[User], None]
REFUND = ActionDraft("refund", {"charge": "ch_1182", "amount": 48, "currency": "EUR"})
PAY = ActionDraft("bank.transfer", {"to": "ACME GmbH", "amount": 12_500})


@pytest.fixture
def colleague(transactional_db: None) -> User:
    return world.person("carla")


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return world.agent_of(owner, colleague, slug="refund-desk")


@pytest.fixture
def session(agent: Agent) -> Session:
    return world.home(agent)


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


def test_votes_and_claims_of_others_appear_while_one_types(
    queue: Callable[[], Page],
    agent: Agent,
    session: Session,
    owner: User,
    colleague: User,
    no_errors: NoErrors,
) -> None:
    in_force(agent, {"operation": "refund", "quorum": 2})
    voted = asked(session, REFUND, prompt="May I refund 48 EUR?")
    other = world.agent_of(owner, colleague, slug="ledger-close")
    plain = world.asked(other, world.question(options=()))
    page = queue()
    expect(card(page, voted)).to_contain_text("2 of 2 must approve. The first rejection decides.")
    expect(card(page, voted)).to_contain_text("Nobody has voted yet.")
    words = card(page, plain).get_by_label("Your answer")
    words.fill("half a sentence")

    answering.answer_ask(ask_id=voted.pk, by=colleague, option="approve", echo=echo_of(voted))
    expect(card(page, voted)).to_contain_text("carla voted: Approve once")
    claiming.claim_ask(ask_id=plain.pk, by=colleague)
    expect(card(page, plain)).to_contain_text("Claimed by carla")
    expect(words).to_have_value("half a sentence")
    expect(words).to_be_focused()
    card(page, plain).get_by_role("button", name="Take it over").click()
    expect(card(page, plain)).to_contain_text("Claimed by owner")
    expect(card(page, plain).get_by_label("Your answer")).to_have_value("half a sentence")

    card(page, voted).get_by_role("button", name="Approve once").click()
    expect(card(page, voted)).to_contain_text("owner answered Approve once")
    no_errors()


def test_what_has_changed_is_shown_and_the_same_answer_given_to_it_by_one_press(
    queue: Callable[[], Page], agent: Agent, session: Session, owner: User, no_errors: NoErrors
) -> None:
    ask = asked(session, REFUND, prompt="May I refund 48 EUR?")
    page = queue()
    expect(card(page, ask)).to_be_visible()
    in_force(agent, {"operation": "refund", "reason_for": ["deny"]}, by=owner)
    card(page, ask).get_by_label("Note to").fill("The customer is right.")
    card(page, ask).get_by_role("button", name="Approve once").click()
    fresh = Ask.objects.exclude(pk=ask.pk)
    expect(page.get_by_text("Your answer was not used.")).to_be_visible()
    expect(page.get_by_text("policy version 0 → 1")).to_be_visible()
    expect(page.get_by_label("Note to")).to_have_value("The customer is right.")
    expect(page.locator(".card[data-open]")).to_have_count(1)
    page.get_by_role("button", name="Same answer, new binding: Approve once").click()
    expect(card(page, fresh.get())).to_contain_text("owner answered Approve once")
    verdict = Verdict.objects.get()
    assert verdict.echo is not None
    assert (verdict.echo["policy_version"], verdict.text) == (1, "The customer is right.")
    no_errors(allowed="409")


def test_what_moves_value_has_no_button(
    queue: Callable[[], Page], agent: Agent, session: Session, no_errors: NoErrors
) -> None:
    in_force(agent, {"operation": "bank.*", "money_critical": True})
    ask = asked(session, PAY, prompt="May I pay the invoice of ACME?")
    page = queue()
    shown = card(page, ask)
    expect(shown).to_contain_text("Approve it with a signed decision file, not here.")
    expect(shown).to_contain_text("signed channel only")
    expect(shown.get_by_role("button", name="Approve once")).to_have_count(0)
    expect(shown.locator("form[action$=answer]")).to_have_count(0)
    page.keyboard.press("1")
    expect(shown).to_contain_text("signed channel only")
    assert not Verdict.objects.exists()
    no_errors()


def test_who_one_is_is_proved_once_more(
    queue: Callable[[], Page],
    agent: Agent,
    session: Session,
    owner: User,
    page: Page,
    no_errors: NoErrors,
) -> None:
    from django.contrib.sessions.models import Session as Login

    in_force(agent, {"operation": "refund", "reauthenticate_within": 5})
    ask = asked(session, REFUND, prompt="May I refund 48 EUR?")
    queue()
    login = Login.objects.get()
    kept = login.get_decoded()
    kept[PROVED_AT] = (database_now() - timedelta(hours=1)).isoformat()
    login.session_data = Login.objects.encode(kept)
    login.save()
    card(page, ask).get_by_role("button", name="Approve once").click()
    page.get_by_role("link", name="Prove who you are").click()
    page.get_by_label("Password").fill(OWNERS_PASSWORD)
    page.locator("main form button").first.click()
    expect(page).to_have_url(f"/asks/{ask.pk}/")
    card(page, ask).get_by_role("button", name="Approve once").click()
    expect(card(page, ask)).to_contain_text("owner answered Approve once")
    no_errors(allowed="403")


def test_clocks_are_in_the_zone_that_one_says(
    queue: Callable[[], Page], agent: Agent, session: Session, no_errors: NoErrors
) -> None:
    in_force(agent, {"operation": "refund"}, expires_after="P2D")
    ask = asked(session, REFUND)
    page = queue()
    before = card(page, ask).locator("[id$=-until] time").first
    expect(before).not_to_have_attribute("data-clock", "")
    here = before.inner_text()
    page.goto("/hours")
    page.get_by_label("Time zone").fill("Pacific/Auckland")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Your hours are saved.")
    page.goto("/")
    there = card(page, ask).locator("[id$=-until] time").first
    expect(there).not_to_have_attribute("data-clock", "")
    expect(there).not_to_have_text(here)
    no_errors()


def everything(agent: Agent, session: Session, owner: User, colleague: User) -> list[str]:
    """Cards and pages of each kind of authority; the addresses to look at."""
    rules = [
        {"operation": "refund", "quorum": 2, "reason_for": ["deny"], "expires_after": "P1D"},
        {"operation": "bank.*", "money_critical": True},
        {"operation": "mail.*", "four_eyes": "required", "reauthenticate_within": 5},
    ]
    in_force(agent, *rules)
    first = asked(session, REFUND, prompt="May I refund 48 EUR to the customer of order 1182?")
    answering.answer_ask(ask_id=first.pk, by=colleague, option="approve", echo=echo_of(first))
    asked(session, PAY, prompt="May I pay the invoice 2026-11 of ACME?")
    mail = ActionDraft("mail.send", {"to": "all@customers.example", "subject": "We are sorry"})
    asked(session, mail, prompt="May I write to all customers?")
    other = world.agent_of(owner, colleague, slug="ledger-close")
    plain = world.asked(other, world.question(options=world.EU_OR_US))
    claiming.claim_ask(ask_id=plain.pk, by=colleague)
    delegation.create_delegation(
        by=colleague, to=owner, ends_at=database_now() + timedelta(days=7), reason="On holiday"
    )
    return ["/", "/backlog/", "/delegations/", "/hours"]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_spills(
    browser: Browser,
    server: LiveServer,
    agent: Agent,
    session: Session,
    owner: User,
    colleague: User,
    colours: str,
    width: int,
) -> None:
    from django.test import Client

    addresses = everything(agent, session, owner, colleague)
    client = Client()
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    kind = {"color_scheme": colours, "viewport": {"width": width, "height": 900}}
    with browser.new_context(base_url=server.url, **kind) as context:  # type: ignore[arg-type]
        cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value}
        context.add_cookies([{**cookie, "url": server.url}])  # type: ignore[typeddict-item]
        page = context.new_page()
        for address in addresses:
            page.goto(address)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, address
