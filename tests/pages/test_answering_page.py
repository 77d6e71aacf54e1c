"""Answering on the page: what is recorded, what is refused and why; nothing typed is lost."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.controls import pause_agent
from agents.messages import post_message
from asks.drafts import ActionDraft
from asks.lifecycle import Reason
from asks.models import Ask, Refusal, Verdict
from tests.pages import world
from tests.pages.answers import HTMX, assert_untouched, card, post
from tests.pages.conftest import signed_in
from tests.pages.html import read

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(owner: User, colleague: User) -> Ask:
    return world.asked(world.agent_of(owner, colleague), world.question(free_text=True))


def test_a_click_records_and_brings_the_card_the_badge_and_a_toast(
    as_owner: Client, ask: Ask
) -> None:
    response = post(as_owner, ask, option="eu")
    assert response.status_code == 200
    assert Verdict.objects.get(ask=ask).option_label == "EU ledger"
    assert "olga answered EU ledger" in card(response, ask).words
    page = read(response.content)
    assert page.one("span", id="needs-badge").attrs["data-count"] == "0"
    assert page.one("div", id="toasts").attrs["hx-swap-oob"] == "beforeend"
    assert "Recorded: EU ledger. ledger-close continues." in page.one("div", id="toasts").words


def test_only_that_card_comes_back(as_owner: Client, owner: User, ask: Ask) -> None:
    world.asked(world.agent_of(owner, slug="other"))
    assert len(read(post(as_owner, ask, option="eu").content).all("article")) == 1


def test_without_scripts_a_message_on_the_queue_says_so(as_owner: Client, ask: Ask) -> None:
    response = as_owner.post(f"/asks/{ask.pk}/answer", {"option": "us"}, follow=True)
    assert response.redirect_chain == [("/", 302)]
    assert "Recorded: US ledger." in read(response.content).one("div", id="toasts").words


def test_words_are_recorded_verbatim_and_shown_as_text(as_owner: Client, ask: Ask) -> None:
    words = "{{ settings.SECRET_KEY }} {% include 'x' %} <b>EU</b> **not bold**\n\u202eok"
    shown = card(post(as_owner, ask, text=words, send="words"), ask)
    assert Verdict.objects.get(ask=ask).text == words
    assert (
        "{{ settings.SECRET_KEY }} {% include 'x' %} <b>EU</b> **not bold** ⟦U+202E⟧ok"
        in shown.words
    )


def test_words_go_with_an_option(as_owner: Client, ask: Ask) -> None:
    post(as_owner, ask, option="eu", text="mind the FX note")
    verdict = Verdict.objects.get(ask=ask)
    assert (verdict.option_label, verdict.text) == ("EU ledger", "mind the FX note")


def test_the_same_answer_again_is_no_error(as_owner: Client, ask: Ask) -> None:
    post(as_owner, ask, option="eu")
    again = post(as_owner, ask, option="eu")
    assert again.status_code == 200
    assert "Recorded already: EU ledger." in read(again.content).words
    assert Verdict.objects.count() == 1


def test_a_colleague_is_told_who_was_first(
    as_owner: Client, as_colleague: Client, ask: Ask
) -> None:
    post(as_owner, ask, option="eu")
    late = post(as_colleague, ask, option="us", text="my reasons")
    assert late.status_code == 409
    assert late["X-Card"] == str(ask.pk)
    assert "already answered by olga" in card(late, ask).words
    assert "my reasons" in card(late, ask).words


def test_a_stranger_finds_nothing(as_stranger: Client, ask: Ask) -> None:
    for htmx in (True, False):
        assert post(as_stranger, ask, htmx, option="eu").status_code == 404
    assert as_stranger.get(f"/asks/{ask.pk}/").status_code == 404
    assert_untouched(ask)
    assert Refusal.objects.filter(reason=Reason.NOT_FOUND).count() == 2


@pytest.mark.parametrize("number", ["0", "999999999", "9" * 30])
def test_no_such_ask(as_owner: Client, number: str) -> None:
    assert as_owner.get(f"/asks/{number}/").status_code == 404
    assert as_owner.post(f"/asks/{number}/answer", {"option": "eu"}).status_code == 404
    assert as_owner.post(f"/asks/{number}/withdraw").status_code == 404


BLANKS = ["", " ", "\t\n", "\u200b", "\u00a0", "\ufeff\u2060", "\u3164", "\r\n"]


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("blank", BLANKS)
def test_blank_is_no_answer(as_owner: Client, ask: Ask, blank: str, htmx: bool) -> None:
    response = post(as_owner, ask, htmx, text=blank, send="words")
    assert response.status_code == 422
    assert "An empty answer is not an answer." in card(response, ask).words
    assert card(response, ask).one("textarea").attrs["aria-invalid"] == "true"
    assert_untouched(ask)


def test_sending_no_words_never_becomes_an_option(as_owner: Client, ask: Ask) -> None:
    assert post(as_owner, ask, send="words", option="eu", text=" ").status_code == 422
    assert_untouched(ask)


def test_an_empty_form_is_no_answer(as_owner: Client, ask: Ask) -> None:
    assert post(as_owner, ask).status_code == 422
    assert_untouched(ask)


@pytest.mark.parametrize(
    "option", ["never-offered", "EU ledger", "EU", "eu ", "Eu", "\x00", "eu\x00", "1", "é" * 5_000]
)
def test_what_was_not_offered_is_no_answer_and_words_are_kept(
    as_owner: Client, ask: Ask, option: str
) -> None:
    response = post(as_owner, ask, option=option, text="my reasons")
    assert response.status_code == 422
    assert card(response, ask).one("textarea").words == "my reasons"
    assert "Your answer was not used." in card(response, ask).words
    assert_untouched(ask)


def test_an_option_of_somebody_elses_ask_is_no_answer(
    as_owner: Client, ask: Ask, stranger: User
) -> None:
    world.asked(world.agent_of(stranger, slug="other"), world.question(options=world.RELEASE))
    assert post(as_owner, ask, option="go").status_code == 422
    assert_untouched(ask)


def test_two_options_at_once_are_none(as_owner: Client, ask: Ask) -> None:
    response = as_owner.post(f"/asks/{ask.pk}/answer", {"option": ["eu", "us"]}, headers=HTMX)
    assert response.status_code == 422
    assert_untouched(ask)


def test_words_where_only_options_are_offered(as_owner: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner, slug="strict"))
    response = post(as_owner, ask, text="neither, because", send="words")
    assert response.status_code == 422
    assert "Pick one of the options." in card(response, ask).words
    assert "neither, because" in card(response, ask).words
    assert_untouched(ask)


@pytest.mark.parametrize(
    ("text", "why"), [("a\x00b", "cannot be stored"), ("x" * 16_001, "16001 characters")]
)
def test_words_that_cannot_be_kept_come_back(
    as_owner: Client, ask: Ask, text: str, why: str
) -> None:
    response = post(as_owner, ask, text=text, send="words")
    assert response.status_code == 422
    assert why in card(response, ask).words
    assert card(response, ask).one("textarea").words == text.replace("\x00", "\ufffd")
    assert_untouched(ask)


def test_two_megabytes_are_not_read(as_owner: Client, ask: Ask) -> None:
    response = post(as_owner, ask, False, text="x" * 2_000_000)
    assert response.status_code in {400, 413}
    assert "far too long" in read(response.content).words
    assert_untouched(ask)


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "application/octet-stream"]
)
def test_a_body_that_is_no_form_is_no_answer(as_owner: Client, ask: Ask, content_type: str) -> None:
    url = f"/asks/{ask.pk}/answer"
    response = as_owner.post(url, b'{"option": "eu"}', content_type=content_type, headers=HTMX)
    assert response.status_code == 422
    assert_untouched(ask)


def test_opening_the_address_of_the_form_answers_nothing(as_owner: Client, ask: Ask) -> None:
    response = as_owner.get(f"/asks/{ask.pk}/answer?option=eu")
    assert response["Location"] == f"/asks/{ask.pk}/"
    assert_untouched(ask)


def test_a_form_of_another_sign_in_is_not_trusted_and_gives_its_words_back(
    owner: User, ask: Ask
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    response = client.post(
        f"/asks/{ask.pk}/answer", {"text": "my long answer", "csrfmiddlewaretoken": "old" * 10}
    )
    assert response.status_code == 403
    page = read(response.content)
    assert "Nothing was recorded" in page.words
    assert "my long answer" in page.words
    assert "oldold" not in page.words
    assert_untouched(ask)


def test_a_tab_that_was_signed_out_gets_its_words_back(client: Client, ask: Ask) -> None:
    response = client.post(
        f"/asks/{ask.pk}/answer",
        {"text": "my long answer"},
        headers={"Referer": f"http://testserver/asks/{ask.pk}/"},
    )
    assert response.status_code == 401
    page = read(response.content)
    assert "my long answer" in page.words
    assert page.one("a", class_="btn").attrs["href"] == f"/login?next=/asks/{ask.pk}/"
    assert_untouched(ask)


def test_the_card_never_swallows_the_sign_in_page(client: Client, ask: Ask) -> None:
    for response in (post(client, ask, option="eu"), client.get("/queue/changes", headers=HTMX)):
        assert response.status_code == 401
        assert "password" not in response.content.decode()


def test_a_token_of_the_page_is_trusted(owner: User, ask: Ask) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    form = read(client.get("/").content).one("form", action=f"/asks/{ask.pk}/answer")
    assert (
        client.post(f"/asks/{ask.pk}/answer", form.fields() | {"option": "eu"}).status_code == 302
    )
    assert Verdict.objects.filter(ask=ask).exists()


def test_a_card_that_a_socket_sent_is_trusted_by_the_pages_token(owner: User, ask: Ask) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    page = read(client.get("/").content)
    token = page.one("body").attrs["hx-headers"]
    sent = read(client.get("/queue/changes").content).one("form", action=f"/asks/{ask.pk}/answer")
    assert sent.fields()["csrfmiddlewaretoken"] == ""
    header = str(token).split('"')[3]
    url = f"/asks/{ask.pk}/answer"
    response = client.post(
        url, sent.fields() | {"option": "eu"}, headers=HTMX | {"X-CSRFToken": header}
    )
    assert response.status_code == 200


class TestDestructive:
    """A destructive option is pressed twice."""

    @pytest.fixture
    def ask(self, owner: User) -> Ask:
        return world.asked(
            world.agent_of(owner), world.question(options=world.RELEASE, free_text=True)
        )

    @pytest.mark.parametrize("htmx", [True, False])
    def test_the_first_press_asks(self, as_owner: Client, ask: Ask, htmx: bool) -> None:
        response = post(as_owner, ask, htmx, option="drop", text="my reasons")
        assert response.status_code == 200
        form = card(response, ask).one("form", action=f"/asks/{ask.pk}/answer")
        assert "Press again to be sure." in form.words
        assert form.fields()["confirmed"] == "drop"
        assert form.fields()["text"] == "my reasons"
        assert_untouched(ask)

    def test_the_second_press_answers(self, as_owner: Client, ask: Ask) -> None:
        form = card(post(as_owner, ask, option="drop", text="why"), ask).one(
            "form", action=f"/asks/{ask.pk}/answer"
        )
        post(as_owner, ask, **form.fields(), option="drop")
        verdict = Verdict.objects.get(ask=ask)
        assert (verdict.option_label, verdict.text) == ("Drop the table", "why")

    def test_going_back_keeps_the_words(self, as_owner: Client, ask: Ask) -> None:
        response = post(as_owner, ask, back="1", confirmed="drop", text="why")
        assert card(response, ask).one("textarea").words == "why"
        assert_untouched(ask)

    def test_confirming_one_does_not_confirm_another(self, as_owner: Client, ask: Ask) -> None:
        assert "Press again" in card(post(as_owner, ask, option="drop", confirmed="go"), ask).words
        assert_untouched(ask)

    def test_one_that_is_over_is_not_asked_again(self, as_owner: Client, ask: Ask) -> None:
        post(as_owner, ask, option="go")
        assert post(as_owner, ask, option="drop").status_code == 409


class TestBound:
    """An approval is bound to what was shown."""

    @pytest.fixture
    def ask(self, owner: User) -> Ask:
        return world.asked(world.agent_of(owner), world.approval())

    def test_the_shown_form_approves(self, as_owner: Client, ask: Ask) -> None:
        form = read(as_owner.get("/").content).one("form", action=f"/asks/{ask.pk}/answer")
        assert post(as_owner, ask, **form.fields(), option="approve").status_code == 200
        assert Verdict.objects.get(ask=ask).meaning == "approve"

    def test_without_its_binding_nothing_is_approved(self, as_owner: Client, ask: Ask) -> None:
        response = post(as_owner, ask, option="approve")
        assert response.status_code == 428
        assert "Nothing was approved" in card(response, ask).words
        assert_untouched(ask)

    def test_a_binding_that_was_never_shown_approves_nothing(
        self, as_owner: Client, ask: Ask
    ) -> None:
        echo = world.echo_of(ask) | {"policy_version": "99"}
        response = post(as_owner, ask, **echo, option="approve", text="fine by me")
        assert response.status_code == 409
        assert card(response, ask).one("textarea").words == "fine by me"
        assert_untouched(ask)

    def test_what_changed_is_asked_anew_in_its_place(self, as_owner: Client, ask: Ask) -> None:
        post_message(session_id=ask.session_id, by=ask.agent.owners.get(), text="Wait, first this.")
        response = post(as_owner, ask, **world.echo_of(ask), option="approve", text="fine by me")
        assert response.status_code == 409
        ask.refresh_from_db()
        fresh = ask.superseded_by
        assert fresh is not None
        new_card = read(response.content).one("article", id=f"ask-{fresh.pk}")
        assert new_card.attrs["data-replaces"] == f"ask-{ask.pk}"
        assert "changed since you looked" in new_card.words
        assert new_card.one("textarea").words == "fine by me"
        assert not Verdict.objects.exists()

    def test_money_is_refused_here(self, as_owner: Client, owner: User) -> None:
        action = ActionDraft("payroll.release", {"total": "9"}, money_critical=True)
        ask = world.asked(world.agent_of(owner, slug="payroll"), world.approval(action=action))
        response = post(as_owner, ask, **world.echo_of(ask), option="approve")
        assert response.status_code == 403
        assert "signed channel" in card(response, ask).words
        assert_untouched(ask)


def test_what_follows_is_true(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner, slug="two-asks")
    first = world.asked(agent, world.question("k1"), world.question("k2"))
    assert (
        "once its other questions are answered"
        in read(post(as_owner, first, option="eu").content).words
    )
    pause_agent(agent_id=agent.pk, by=owner)
    second = Ask.objects.get(request_key="k2")
    assert (
        "is paused and reads it when you resume it"
        in read(post(as_owner, second, option="eu").content).words
    )


def test_the_page_of_one_ask(as_owner: Client, ask: Ask) -> None:
    assert read(as_owner.get(f"/asks/{ask.pk}/").content).all("button", name="option")
    post(as_owner, ask, option="eu")
    page = read(as_owner.get(f"/asks/{ask.pk}/").content)
    assert "Which ledger should October close against?" in page.words
    assert "olga answered EU ledger" in page.words


def test_many_refusals_wake_nothing(owner: User, ask: Ask) -> None:
    client = signed_in(owner)
    for fields in ({}, {"option": "x"}, {"text": "\u200b"}, {"option": "eu\x00"}):
        post(client, ask, **fields)
    assert_untouched(ask)
    assert Refusal.objects.filter(ask=ask).count() == 4
