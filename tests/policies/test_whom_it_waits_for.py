"""Who may not answer reads whom it waits for, everywhere; what they voted on or is closed stays readable."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, Session
from asks.answering import answer_ask
from asks.models import Ask
from asks.withdrawing import withdraw_ask
from tests.factories import UserFactory, echo_of
from tests.pages.html import Element, read
from tests.policies.test_cards import HTMX, signed_in
from tests.policies.world import asked, group_of, in_force, refund

pytestmark = pytest.mark.django_db


def page(person: User, path: str) -> Element:
    return read(signed_in(person).get(path).content)


def said_everywhere(person: User, ask: Ask, words: str) -> None:
    """Check the pages of an owner who may not answer, and that none of them asks for an answer."""
    slug = ask.agent.slug
    for path in (f"/sessions/{ask.session_id}/", "/agents/", f"/agents/{slug}/", "/"):
        seen = page(person, path)
        assert words in [pill.words for pill in seen.all("span", class_="pill")], path
        assert seen.all(class_="pill--blocker") == [], path
        assert "Waiting for you" not in seen.words, path
        assert "Answer on Needs you" not in seen.words, path
    assert words in page(person, "/").one("section", aria_label="Quiet").words


def test_four_eyes_wait_for_the_other_owner(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    in_force(agent, refund(four_eyes="required"))
    ask = asked(session)
    said_everywhere(owner, ask, "Waits for carl")
    pills = [pill.words for pill in page(colleague, f"/sessions/{session.pk}/").all(class_="pill")]
    assert "Waiting for you" in pills
    assert "It waits for carl." in page(owner, f"/asks/{ask.pk}/").words


@pytest.mark.parametrize("confidential", [False, True])
def test_a_groups_ask_waits_for_the_group(
    agent: Agent, session: Session, owner: User, *, confidential: bool
) -> None:
    members = [UserFactory(username=name) for name in ("olivia", "mo")]
    group_of("finance", *members)
    more = {"confidential": True} if confidential else {}
    in_force(agent, refund(answered_by="group:finance", quorum=2, **more))
    ask = asked(session)
    said_everywhere(owner, ask, "Waits for finance, 0 of 2")
    answer_ask(ask_id=ask.pk, by=members[0], option="approve", echo=echo_of(ask))
    said_everywhere(owner, ask, "Waits for finance, 1 of 2")


def test_after_my_vote_it_waits_for_the_rest(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    agent.owners.add(UserFactory(username="mo"))
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    said_everywhere(owner, ask, "Waits for carl or mo, 1 of 2")


def test_the_thread_says_it_waits_for_an_answer_and_not_whose(
    agent: Agent, session: Session, owner: User
) -> None:
    in_force(agent, refund(four_eyes="required"))
    asked(session)
    words = page(owner, f"/sessions/{session.pk}/").one("div", id="thread").words
    assert "It waits for an answer." in words
    assert "your answer" not in words.lower()


def test_my_vote_leaves_the_question_the_action_and_who_is_missing(
    agent: Agent, session: Session, owner: User, colleague: User
) -> None:
    agent.owners.add(UserFactory(username="mo"))
    in_force(agent, refund(quorum=2))
    ask = asked(session)
    client = signed_in(owner)
    answer = {**echo_of(ask), "option": "approve"}
    sent = client.post(f"/asks/{ask.pk}/answer", answer, headers=HTMX)
    elsewhere = client.get(f"/queue/changes?have=ask-{ask.pk}")
    for response in (sent, elsewhere, client.get(f"/asks/{ask.pk}/")):
        card = read(response.content).one("article", id=f"ask-{ask.pk}")
        assert "You voted Approve once. 1 of 2. Still needed: carl or mo." in card.words
        assert "olga voted: Approve once" in card.words
        assert_shows_what_was_asked(card, ask)


@pytest.mark.parametrize("end", ["answered", "withdrawn"])
def test_a_closed_card_stays_readable(
    agent: Agent, session: Session, owner: User, end: str
) -> None:
    ask = asked(session)
    if end == "answered":
        answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo_of(ask))
    else:
        withdraw_ask(ask_id=ask.pk, by=owner, reason="Not needed.")
    client = signed_in(owner)
    for response in (
        client.get(f"/asks/{ask.pk}/"),
        client.get(f"/queue/changes?have=ask-{ask.pk}"),
    ):
        assert_shows_what_was_asked(read(response.content).one("article", id=f"ask-{ask.pk}"), ask)


def assert_shows_what_was_asked(card: Element, ask: Ask) -> None:
    assert ask.prompt in card.words
    assert ask.gate.operation in card.words
    for name, value in ask.gate.params.items():
        assert name in card.words
        assert str(value) in card.words
