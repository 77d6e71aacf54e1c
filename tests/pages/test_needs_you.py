"""The queue: who sees which cards, in what order, what counts, and how many queries it takes."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents.lifecycle import Outcome
from agents.models import Session
from asks.drafts import ActionDraft, OptionDraft
from asks.models import Ask
from tests.pages import world
from tests.pages.conftest import signed_in
from tests.pages.html import Element, read

pytestmark = pytest.mark.django_db


def queue(client: Client) -> Element:
    response = client.get("/")
    assert response.status_code == 200
    return read(response.content)


def card_ids(page: Element) -> list[str | None]:
    return [card.attrs["id"] for card in page.all("article")]


def badge(page: Element) -> str | None:
    return page.one("span", id="needs-badge").attrs["data-count"]


def test_nothing_waits(as_owner: Client) -> None:
    page = queue(as_owner)
    assert "Nothing waits on you" in page.words
    assert badge(page) == "0"
    assert page.one("title").words == "Needs you"


def test_the_longest_wait_comes_first(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    world.turn(agent, world.question("old"), world.question("new"), world.question("middle"))
    for key, minutes in (("old", 30), ("middle", 20), ("new", 10)):
        ask = Ask.objects.get(request_key=key)
        Ask.objects.filter(pk=ask.pk).update(opened_at=ask.opened_at - world.minutes(minutes))
    expected = [f"ask-{Ask.objects.get(request_key=key).pk}" for key in ("old", "middle", "new")]
    assert card_ids(queue(as_owner)) == expected


def test_a_card_says_who_asks_what_and_offers_its_options(as_owner: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner), world.question(prompt="Which **ledger**?"))
    card = queue(as_owner).one("article", id=f"ask-{ask.pk}")
    assert "ledger-close" in card.words
    assert "Which ledger?" in card.words
    assert [button.attrs["value"] for button in card.all("button", name="option")] == ["eu", "us"]
    assert card.one("form", action=f"/asks/{ask.pk}/answer").attrs["method"] == "post"
    assert card.one("form", action=f"/asks/{ask.pk}/withdraw")
    assert "Your answer starts the next turn" in card.words


def test_words_are_asked_for_only_where_they_are_allowed(as_owner: Client, owner: User) -> None:
    world.turn(
        world.agent_of(owner), world.question("options"), world.question("words", options=())
    )
    page = queue(as_owner)
    for key, boxes in (("options", 0), ("words", 1)):
        ask = Ask.objects.get(request_key=key)
        assert len(page.one("article", id=f"ask-{ask.pk}").all("textarea")) == boxes


def test_a_bound_card_shows_the_whole_action_and_carries_its_binding(
    as_owner: Client, owner: User
) -> None:
    ask = world.asked(world.agent_of(owner), world.approval())
    card = queue(as_owner).one("article", id=f"ask-{ask.pk}")
    assert "stripe.refunds.create" in card.words
    assert "48.00 EUR" in card.words
    fields = card.one("form", action=f"/asks/{ask.pk}/answer").fields()
    assert world.echo_of(ask).items() <= fields.items()


def test_a_long_command_is_shown_to_its_end(as_owner: Client, owner: User) -> None:
    command = "echo ok; " * 1_500 + "\n" * 300 + "rm -rf / --no-preserve-root"
    action = ActionDraft("shell", {"command": command})
    ask = world.asked(world.agent_of(owner), world.approval(action=action))
    words = queue(as_owner).one("article", id=f"ask-{ask.pk}").words
    assert "rm -rf / --no-preserve-root" in words
    assert "blank lines⟧" in words


def test_money_is_never_moved_from_here(as_owner: Client, owner: User) -> None:
    action = ActionDraft("payroll.release", {"total": "9"}, money_critical=True)
    ask = world.asked(world.agent_of(owner), world.approval(action=action))
    card = queue(as_owner).one("article", id=f"ask-{ask.pk}")
    assert card.all("form", action=f"/asks/{ask.pk}/answer") == []
    assert "signed channel only" in card.words


def test_sixty_options_are_all_there(as_owner: Client, owner: User) -> None:
    options = tuple(OptionDraft(f"o{n}", "y" * 4_000 if n == 7 else str(n)) for n in range(60))
    world.asked(world.agent_of(owner), world.question(options=options))
    choices = queue(as_owner).all("input", name="option", type="radio")
    assert [one.attrs["value"] for one in choices] == [f"o{n}" for n in range(60)]


@pytest.mark.case("C96")
def test_any_script_of_any_language(as_owner: Client, owner: User) -> None:
    options = (
        OptionDraft("a", "Ja, Donaudampfschifffahrtsgesellschaft"),
        OptionDraft("b", "👨\u200d👩\u200d👧"),
    )
    world.asked(world.agent_of(owner), world.question(prompt="هل أوافق؟", options=options))
    page = queue(as_owner)
    assert page.one("div", class_="words--ask").all("p", dir="auto")[0].words == "هل أوافق؟"
    assert all(button.attrs["dir"] == "auto" for button in page.all("button", name="option"))
    assert "👨\u200d👩\u200d👧" in page.words


def test_agents_words_do_nothing(as_owner: Client, owner: User) -> None:
    form = "<form action=//evil><button name=option value=eu>x</button></form>"
    evil = f"<script>alert(1)</script> {form} {{{{ csrf_token }}}}"
    options = (OptionDraft('"><img src=x onerror=alert(1)>', "<b>bold</b>\u202e"),)
    ask = world.asked(world.agent_of(owner), world.question(prompt=evil, options=options))
    card = queue(as_owner).one("article", id=f"ask-{ask.pk}")
    assert card.all("script") == card.all("img") == card.all("b") == []
    assert {form.attrs["action"] for form in card.all("form")} == {
        f"/asks/{ask.pk}/answer",
        f"/asks/{ask.pk}/withdraw",
    }
    assert "{{ csrf_token }}" in card.words
    assert "<b>bold</b>⟦U+202E⟧" in card.words


def test_blocked_sessions_are_cards_and_count(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner, slug="indexer")
    world.turn(agent, report="The login was **revoked**.")
    page = queue(as_owner)
    card = page.one("article", id=f"session-{world.home(agent).pk}")
    assert "The login was revoked." in card.words
    assert card.one("textarea", name="text")
    assert badge(page) == "1"


def test_only_what_waits_on_me_counts(as_owner: Client, owner: User) -> None:
    world.turn(world.agent_of(owner, slug="asks"), world.question())
    world.turn(world.agent_of(owner, slug="blocked"))
    world.turn(world.agent_of(owner, slug="idle"), outcome=Outcome.NO_WORK)
    world.turn(world.agent_of(owner, slug="broken"), outcome=Outcome.RETRYABLE_ERROR)
    world.turn(world.agent_of(owner, slug="limited"), outcome=Outcome.RATE_LIMITED)
    page = queue(as_owner)
    assert badge(page) == "2" == page.one("span", id="needs-badge-tab").attrs["data-count"]
    assert page.one("title").words.startswith("(2) ")
    assert len(page.all("article")) == 2


@pytest.mark.parametrize(
    "status",
    [
        "WAITING_RESOURCE",
        "BACKING_OFF",
        "SCHEDULED",
        "WAITING_EVENT",
        "MANUAL",
        "PAUSED",
        "RETIRED",
        "DRAFT",
    ],
)
def test_what_is_fine_is_said_and_never_shouts(as_owner: Client, owner: User, status: str) -> None:
    agent = world.agent_of(owner)
    Session.objects.filter(agent=agent).update(status=status, status_reason="Waits for Monday.")
    page = queue(as_owner)
    assert "Waits for Monday." in page.one("section", aria_label="Quiet").words
    assert page.all(class_="pill--blocker") == []
    assert badge(page) == "0"


def test_the_quiet_group_is_closed_while_something_waits(as_owner: Client, owner: User) -> None:
    world.asked(world.agent_of(owner))
    quiet = queue(as_owner).one("section", aria_label="Quiet").one("details")
    assert "open" not in quiet.attrs


def test_notices_are_shown_and_not_counted(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    world.notice(agent, "Two lines have **no** receipt.")
    page = queue(as_owner)
    assert "Two lines have no receipt." in page.one("section", aria_labelledby="g-notes").words
    assert badge(page) == "0"


def test_a_colleague_sees_the_same_and_a_stranger_nothing(
    as_owner: Client, as_colleague: Client, as_stranger: Client, owner: User, colleague: User
) -> None:
    ask = world.asked(world.agent_of(owner, colleague))
    world.notice(ask.agent, "psst")
    assert card_ids(queue(as_owner)) == card_ids(queue(as_colleague)) == [f"ask-{ask.pk}"]
    page = queue(as_stranger)
    assert card_ids(page) == []
    assert "psst" not in page.words
    assert "ledger-close" not in page.words


def test_whoever_is_not_signed_in_is_sent_to_sign_in(client: Client) -> None:
    response = client.get("/")
    assert response.status_code == 302
    assert response["Location"] == "/login?next=/"


def test_more_than_a_page_is_split_in_order(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    world.turn(agent, *[world.question(f"k{n}") for n in range(60)])
    first, second = queue(as_owner), read(as_owner.get("/?page=2").content)
    assert badge(first) == badge(second) == "60"
    ids = [int(str(name).removeprefix("ask-")) for name in card_ids(first) + card_ids(second)]
    assert ids == sorted(ids)
    assert len(ids) == 60
    assert len(card_ids(first)) == 50


def test_a_page_further_down_keeps_its_cards(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    world.turn(agent, *[world.question(f"k{n}") for n in range(52)])
    have = ",".join(str(name) for name in card_ids(read(as_owner.get("/?page=2").content)))
    assert as_owner.get("/queue/changes", {"have": f"full.52,{have}"}).content == b""
    changes = read(as_owner.get("/queue/changes", {"have": have}).content)
    assert len(changes.one("div", id="cards").all("article")) == 50
    assert changes.all(hx_swap_oob="true", class_="card") == []
    assert changes.all(hx_swap_oob="delete") == []


def test_each_reader_gets_their_own_token(owner: User, colleague: User) -> None:
    ask = world.asked(world.agent_of(owner, colleague))
    tokens = set()
    for reader in (owner, colleague, owner):
        page = queue(signed_in(reader))
        fields = page.one("form", action=f"/asks/{ask.pk}/answer").fields()
        assert len(fields["csrfmiddlewaretoken"]) == 64
        tokens.add(fields["csrfmiddlewaretoken"])
    assert len(tokens) == 3


@pytest.mark.parametrize("page", ["0", "-1", "x", "99", "1\x00", "9" * 40])
def test_an_odd_page_number_is_some_page(as_owner: Client, page: str) -> None:
    assert as_owner.get("/", {"page": page}).status_code == 200


@pytest.mark.parametrize("count", [1, 30, 50])
def test_queries_do_not_grow_with_cards(
    as_owner: Client, owner: User, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    agent = world.agent_of(owner)
    world.turn(agent, *[world.approval(f"k{n}") for n in range(count)])
    world.turn(world.agent_of(owner, slug="blocked"))
    with django_assert_max_num_queries(13):
        assert len(queue(as_owner).all("article")) == count + 1


def test_fifty_cards_are_light(as_owner: Client, owner: User) -> None:
    import gzip

    world.turn(world.agent_of(owner), *[world.question(f"k{n}") for n in range(50)])
    assert len(gzip.compress(as_owner.get("/").content)) < 60_000


def test_nothing_comes_from_elsewhere_and_nothing_is_inline(as_owner: Client, owner: User) -> None:
    world.asked(world.agent_of(owner))
    page = queue(as_owner)
    addresses = [
        one.attrs.get("src") or one.attrs.get("href")
        for one in page.all("script") + page.all("link")
    ]
    assert addresses
    assert all(address and address.startswith("/static/") for address in addresses)
    assert all(script.words == "" for script in page.all("script"))
    assert page.all("style") == []
    assert [one for one in page.all() if "style" in one.attrs] == []
    assert [
        name for one in page.all() for name in one.attrs if name.startswith(("on", "hx-on"))
    ] == []


def test_polling_gets_what_is_new_and_what_is_over(as_owner: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner), world.question("k1"), world.question("k2"))
    other = Ask.objects.get(request_key="k2")
    as_owner.post(f"/asks/{ask.pk}/answer", {"option": "eu"})
    changes = read(as_owner.get("/queue/changes", {"have": f"ask-{ask.pk},ask-999999,x"}).content)
    assert f"ask-{other.pk}" in [
        card.attrs["id"] for card in changes.one("div", id="cards").all("article")
    ]
    assert "olga answered" in changes.one("article", id=f"ask-{ask.pk}").words
    assert changes.one("div", id="ask-999999").attrs["hx-swap-oob"] == "delete"
    assert changes.one("span", id="needs-badge").attrs["data-count"] == "1"


def test_a_page_without_the_queue_polls_for_its_badge(
    as_owner: Client, owner: User, client: Client
) -> None:
    world.asked(world.agent_of(owner))
    assert client.get("/queue/badge").status_code == 302
    badge = read(as_owner.get("/queue/badge").content).one("span", id="needs-badge")
    assert badge.attrs["data-count"] == "1"
    assert badge.attrs["hx-swap-oob"] == "true"


def test_polling_says_nothing_when_nothing_moved(as_owner: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner))
    assert as_owner.get("/queue/changes", {"have": f"ask-{ask.pk}"}).content == b""


@pytest.mark.parametrize(
    "have",
    ["", ",", "ask-", "ask-x", "ask-" + "9" * 30, "ask-\u0661", "\x00", "a" * 5_000, "session--1"],
)
def test_odd_names_of_cards_are_harmless(as_owner: Client, have: str) -> None:
    assert as_owner.get("/queue/changes", {"have": have}).status_code == 200


def test_a_stranger_learns_nothing_by_naming_cards(as_stranger: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner))
    words = as_stranger.get("/queue/changes", {"have": f"ask-{ask.pk}"}).content.decode()
    assert "ledger" not in words
