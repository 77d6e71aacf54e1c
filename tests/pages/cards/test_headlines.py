"""The card says before the press what it does: headline, verbs, danger, effects, no answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asks.drafts import ActionDraft, OptionDraft
from asks.lifecycle import Meaning
from asks.models import Ask, Verdict
from asks.policies.wording import Wording
from tests.pages import world
from tests.pages.answers import assert_untouched, card, post
from tests.pages.html import Element, read
from tests.policies.world import asked, in_force

pytestmark = pytest.mark.django_db

REFUND = {"amount": "48.00", "currency": "EUR", "customer": "Brandt & Söhne"}
WORDS = {
    "headline": "Refund {amount} {currency} to {customer}",
    "approve_label": "Refund {amount} {currency}",
    "reject_label": "Do not refund",
}


def shown(client: Client, owner: User, params: Any = REFUND, **rule: Any) -> tuple[Ask, Element]:
    agent = world.agent_of(owner)
    if rule:
        in_force(agent, {"operation": "refund", **rule})
    ask = asked(world.home(agent), ActionDraft("refund", params))
    return ask, on_page(client, ask)


def on_page(client: Client, ask: Ask) -> Element:
    page = read(client.get(f"/asks/{ask.pk}/").content)
    return page.one("article", id=f"ask-{ask.pk}")


def headline(article: Element) -> str:
    return article.one("p", class_="card__deed").words


def buttons(article: Element) -> list[str]:
    return [one.words.rstrip("0123456789 ") for one in article.all("button", name="option")]


def test_the_policy_names_the_deed_with_its_amounts(as_owner: Client, owner: User) -> None:
    _ask, article = shown(as_owner, owner, **WORDS)
    assert headline(article) == "Refund 48.00 EUR to Brandt & Söhne"
    assert [one.words for one in article.one("p", class_="card__deed").all("bdi")] == [
        "48.00",
        "EUR",
        "Brandt & Söhne",
    ]
    assert buttons(article) == ["Refund 48.00 EUR", "Do not refund"]


def test_a_tool_names_the_deed_where_the_policy_does_not(as_owner: Client, owner: User) -> None:
    wording = Wording(headline="Refund {amount}", approve_label="Refund it")
    action = ActionDraft("refund", REFUND, wording=wording)
    article = on_page(as_owner, asked(world.home(world.agent_of(owner)), action))
    assert headline(article) == "Refund 48.00"
    assert buttons(article) == ["Refund it", "Reject"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (REFUND, "refund: amount 48.00, currency EUR, customer Brandt & Söhne"),
        ({"a": {"b": 1}, "n": 2, "t": True, "l": [1]}, "refund: n 2, t true"),
        ({"command": "rm -rf /\nls"}, "refund: command rm -rf / …"),
        ({"to": "x", "content": "a\nb"}, "refund: to x"),
        ({"old_string": "a", "path": "x.py", "new_string": "b"}, "refund: path x.py"),
        ({}, "refund"),
        (None, "refund"),
        ("all", "refund: all"),
    ],
)
def test_without_a_template_it_is_the_operation_and_its_first_arguments(
    as_owner: Client, owner: User, params: Any, words: str
) -> None:
    assert headline(shown(as_owner, owner, params)[1]) == words


def test_a_template_that_lacks_an_argument_says_nothing(as_owner: Client, owner: User) -> None:
    _ask, article = shown(as_owner, owner, {"amount": 5}, **WORDS)
    assert headline(article) == "refund: amount 5"
    assert buttons(article) == ["Approve once", "Do not refund"]


def test_hostile_arguments_stay_text(as_owner: Client, owner: User) -> None:
    customer = "</bdi><script>x</script>\u202e{amount} approved"
    _ask, article = shown(as_owner, owner, {**REFUND, "customer": customer}, **WORDS)
    shown_words = "</bdi><script>x</script>⟦U+202E⟧{amount} approved"
    assert headline(article) == f"Refund 48.00 EUR to {shown_words}"
    assert not article.one("p", class_="card__deed").all("script")


def test_a_value_from_right_to_left_moves_no_amount(as_owner: Client, owner: User) -> None:
    rule = {"approve_label": "Pay {customer} {amount}", "headline": "Pay {customer} {amount}"}
    params = {"amount": 48, "customer": "\u05d0\u05d1 99"}
    _ask, article = shown(as_owner, owner, params, **rule)
    assert buttons(article) == ["Approve once", "Reject"]
    values = article.one("p", class_="card__deed").all("bdi")
    assert [value.words for value in values] == ["\u05d0\u05d1 99", "48"]


def test_what_the_agent_writes_is_never_the_headline(as_owner: Client, owner: User) -> None:
    action = ActionDraft("pay", {"amount": 900})
    ask = asked(world.home(world.agent_of(owner)), action, prompt="Refund 1.00 EUR?")
    article = on_page(as_owner, ask)
    assert headline(article) == "pay: amount 900"


def test_the_agents_own_label_stays_where_it_says_more(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    rule = {"operation": "stripe.*", "approve_label": "Refund it", "reject_label": "Keep it"}
    in_force(agent, rule)
    options = (
        OptionDraft("yes", "Yes, and close the ticket", meaning=Meaning.APPROVE),
        OptionDraft("no", "No", meaning=Meaning.DENY),
        OptionDraft("later", "Not today", meaning=Meaning.ANSWER),
    )
    article = on_page(as_owner, world.asked(agent, replace(world.approval(), options=options)))
    assert buttons(article) == ["Refund it", "Keep it", "Not today"]
    assert "The agent calls it “Yes, and close the ticket”." in article.words
    assert "The agent calls it “No”" not in article.words


def test_two_options_that_approve_keep_their_own_words(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    in_force(agent, {"operation": "stripe.*", "approve_label": "Refund it"})
    options = tuple(OptionDraft(word, word, meaning=Meaning.APPROVE) for word in ("Once", "Always"))
    article = on_page(as_owner, world.asked(agent, replace(world.approval(), options=options)))
    assert buttons(article) == ["Once", "Always"]


@pytest.mark.parametrize("door", ["policy", "tool"])
def test_danger_of_the_policy_or_the_tool_asks_twice(
    as_owner: Client, owner: User, door: str
) -> None:
    agent = world.agent_of(owner)
    if door == "policy":
        in_force(agent, {"operation": "refund", "danger": True})
    wording = Wording(danger=True) if door == "tool" else Wording()
    ask = asked(world.home(agent), ActionDraft("refund", REFUND, wording=wording))
    pressed = on_page(as_owner, ask).one("button", name="option", value="approve")
    assert "btn--danger" in str(pressed.attrs["class"])
    assert "data-asks-twice" in pressed.attrs
    first = post(as_owner, ask, option="approve", **world.echo_of(ask))
    assert "Press again to be sure." in card(first, ask).words
    assert_untouched(ask)
    post(as_owner, ask, option="approve", confirmed="approve", **world.echo_of(ask))
    assert Verdict.objects.get().option_label == "Approve once"


def test_a_dangerous_approval_needs_a_reason_where_the_policy_says(
    as_owner: Client, owner: User
) -> None:
    ask, _article = shown(as_owner, owner, danger=True, reason_for=["danger"])
    both = {"option": "approve", "confirmed": "approve", **world.echo_of(ask)}
    assert post(as_owner, ask, **both).status_code == 422
    assert_untouched(ask)
    assert post(as_owner, ask, **both, text="because").status_code == 200


@pytest.mark.parametrize(
    ("reversible", "words"), [(True, "can be reversed"), (False, "cannot be reversed")]
)
def test_whether_it_can_be_reversed_is_said(
    as_owner: Client, owner: User, reversible: bool, words: str
) -> None:
    _ask, article = shown(as_owner, owner, reversible=reversible)
    assert words in [tag.words for tag in article.one("figcaption").all("span", class_="tag")]


def test_nothing_is_said_where_nobody_says(as_owner: Client, owner: User) -> None:
    assert "reversed" not in shown(as_owner, owner)[1].words


def test_what_happens_if_nobody_answers_is_said(as_owner: Client, owner: User) -> None:
    _ask, article = shown(as_owner, owner)
    assert "If nobody answers, nothing happens: it waits without limit." in article.words
    other = world.agent_of(owner, slug="other")
    in_force(other, expires_after="PT1H")
    waiting = on_page(as_owner, asked(world.home(other), ActionDraft("x", {})))
    assert "without limit" not in waiting.words
    assert "it is paused and moved to Backlog" in waiting.words


def test_a_changed_call_has_its_own_headline_and_verb(as_owner: Client, owner: User) -> None:
    ask, article = shown(as_owner, owner, may_edit=True, **WORDS)
    fields = article.one("form", action=f"/asks/{ask.pk}/answer").fields()
    changed = {**fields, "edit/amount": "40.00", "option": "approve"}
    reviewed = card(post(as_owner, ask, **changed), ask)
    change = reviewed.one("figure", class_="bound--change")
    assert "Refund 40.00 EUR to Brandt & Söhne" in change.words
    assert buttons(reviewed) == ["Refund 40.00 EUR, as changed"]


def test_what_was_recorded_is_said_in_the_words_of_the_button(
    as_owner: Client, owner: User
) -> None:
    ask, _article = shown(as_owner, owner, **WORDS)
    response = post(as_owner, ask, option="approve", **world.echo_of(ask))
    assert "Recorded: Refund 48.00 EUR." in read(response.content).words
    settled = on_page(as_owner, ask).words
    assert "olga answered Refund 48.00 EUR (Approve once)" in settled
    receipt = read(as_owner.get(f"/decisions/{ask.pk}/receipt/").content).words
    assert "Approve once (chosen) on the button: Refund 48.00 EUR" in receipt
    assert Verdict.objects.get().option_label == "Approve once"


def test_what_was_recorded_for_a_changed_call_names_the_changed_amount(
    as_owner: Client, owner: User
) -> None:
    ask, article = shown(as_owner, owner, may_edit=True, **WORDS)
    fields = article.one("form", action=f"/asks/{ask.pk}/answer").fields()
    changed = {**fields, "edit/amount": "40.00", "option": "approve"}
    reviewed = card(post(as_owner, ask, **changed), ask)
    form = reviewed.one("form", action=f"/asks/{ask.pk}/answer").fields()
    post(as_owner, ask, **form, option="approve")
    assert "olga answered Refund 40.00 EUR (Approve once)" in on_page(as_owner, ask).words
