"""A stale card is asked again, with what changed since it was looked at."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents import messages
from agents.lifecycle import Outcome
from agents.models import Agent, Session
from asks.actions import difference
from asks.actions.difference import Piece, ValueChange
from asks.answering import answer_ask
from asks.drafts import ActionDraft, OptionDraft
from asks.lifecycle import AskStatus, Meaning, Reason, Style
from asks.models import Ask, Verdict
from asks.refusals import Refused
from tests.factories import REFUND, claim, draft, echo_of, finish
from tests.pages.html import Element, read
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def test_words_that_changed_are_told_from_those_that_stayed() -> None:
    found = difference.compare_words(
        "Refund 48.00 EUR to Nordlicht?", "Refund 480.00 EUR to Nordlicht?"
    )
    assert found == (
        Piece("", "Refund "),
        Piece("-", "48"),
        Piece("+", "480"),
        Piece("", ".00 EUR to Nordlicht?"),
    )
    assert (
        "".join(one.text for one in found if one.sign != "-") == "Refund 480.00 EUR to Nordlicht?"
    )


def test_a_long_text_is_compared_by_lines() -> None:
    before = "".join(f"line {number}\n" for number in range(3000))
    now = before.replace("line 7\n", "line seven\n")
    assert [one for one in difference.compare_words(before, now) if one.sign] == [
        Piece("-", "line 7\n"),
        Piece("+", "line seven\n"),
    ]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [ValueChange("a", 1, 2)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [ValueChange("a.b[1]", 2, 3)]),
        (
            {"a": 1},
            {"b": 1},
            [ValueChange("a", 1, None, gone=True), ValueChange("b", None, 1, new=True)],
        ),
        ([1], [1, None], [ValueChange("[1]", None, None, new=True)]),
        (1, True, [ValueChange("", 1, True)]),
        ({"a": None}, {"a": 0}, [ValueChange("a", None, 0)]),
    ],
)
def test_values_that_changed(before: Any, now: Any, expected: list[ValueChange]) -> None:
    assert list(difference.compare_values(before, now)) == expected


@pytest.fixture
def client(owner: User) -> Client:
    made = Client()
    made.force_login(owner)
    return made


def answered_late(client: Client, ask: Ask, echo: dict[str, Any], **fields: str) -> Element:
    """The owner answers what they saw; the card that comes back."""
    response = client.post(
        f"/asks/{ask.pk}/answer", {**echo, "option": "approve", **fields}, headers=HTMX
    )
    assert response.status_code == 409
    ask.refresh_from_db()
    assert ask.superseded_by is not None
    return read(response.content).one("article", id=f"ask-{ask.superseded_by_id}")


@pytest.mark.case("C24", "X7")
def test_the_new_card_says_what_changed_and_keeps_the_comment(
    agent: Agent, session: Session, owner: User, client: Client
) -> None:
    ask = asked(session, free_text=True)
    echo = echo_of(ask)
    in_force(agent, refund(quorum=1, confidential=False))
    messages.post_message(session_id=session.pk, by=owner, text="Wait.")
    card = answered_late(client, ask, echo, text="fine by me")

    changes = card.one("section", class_="changes").words
    assert "policy version 0 → 1: For a test." in changes
    assert "run 1.1 → 2.1" in changes
    assert "rules" in changes
    assert card.one("textarea").words == "fine by me"


@pytest.mark.case("C24")
def test_the_same_answer_is_given_to_it_by_one_press(
    agent: Agent, session: Session, owner: User, client: Client
) -> None:
    ask = asked(session, free_text=True)
    echo = echo_of(ask)
    in_force(agent, refund())
    card = answered_late(client, ask, echo, text="fine by me")
    fresh = Ask.objects.get(status=AskStatus.OPEN)
    button = card.one("button", name="same")
    assert button.words == "Same answer, new binding: Approve once"

    form = card.one("form", action=f"/asks/{fresh.pk}/answer").fields()
    pressed = form | {"same": str(button.attrs["value"])}
    assert client.post(f"/asks/{fresh.pk}/answer", pressed, headers=HTMX).status_code == 200
    verdict = Verdict.objects.get()
    assert (verdict.ask, verdict.meaning, verdict.text) == (fresh, Meaning.APPROVE, "fine by me")
    assert verdict.echo is not None
    assert verdict.echo["policy_version"] == 1


def test_one_press_is_enough_for_a_destructive_answer_too(
    agent: Agent, session: Session, client: Client
) -> None:
    ask = asked(session)
    echo = echo_of(ask)
    in_force(agent, refund())
    card = answered_late(client, ask, echo, option="deny", confirmed="deny")
    fresh = Ask.objects.get(status=AskStatus.OPEN)
    form = card.one("form", action=f"/asks/{fresh.pk}/answer").fields()
    client.post(f"/asks/{fresh.pk}/answer", form | {"same": "deny"}, headers=HTMX)
    assert Verdict.objects.get().meaning == Meaning.DENY


def test_the_press_before_that_is_never_counted_for_it(
    agent: Agent, session: Session, owner: User, client: Client
) -> None:
    """One deliberate press: the stale answer by itself approves nothing."""
    ask = asked(session)
    echo = echo_of(ask)
    in_force(agent, refund())
    answered_late(client, ask, echo)
    answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo)
    assert not Verdict.objects.exists()


@pytest.mark.case("C32", "C22")
def test_what_is_asked_otherwise_stands_in_its_place_and_shows_both(
    session: Session, owner: User, client: Client
) -> None:
    """The next attempt asks under the same name with other words and other arguments."""
    ask = asked(session, ActionDraft("refund", {"to": {"name": "A", "iban": "DE1"}, "amount": 48}),
                key="k", prompt="Refund 48 EUR?")  # fmt: skip
    echo = echo_of(ask)
    messages.post_message(session_id=session.pk, by=owner, text="Go on.")
    other = ActionDraft("refund", {"to": {"name": "A", "iban": "DE2"}, "amount": 480})
    options = (OptionDraft("approve", "Pay it out", style=Style.PRIMARY, meaning=Meaning.APPROVE),)
    turn = claim(session.runs.latest("number"))
    again = draft("k", "Refund 480 EUR?", options, action=other)
    finish(turn, Outcome.BLOCKED, asks=(again,))

    ask.refresh_from_db()
    assert ask.status == AskStatus.SUPERSEDED
    late = answer_ask(ask_id=ask.pk, by=owner, option="approve", echo=echo)
    assert isinstance(late, Refused)
    assert (late.reason, late.replaced_by) == (Reason.STALE, ask.superseded_by)
    assert not Verdict.objects.exists()

    response = client.post(f"/asks/{ask.pk}/answer", {**echo, "option": "approve"}, headers=HTMX)
    card = read(response.content).one("article", id=f"ask-{ask.superseded_by_id}")
    changes = card.one("section", class_="changes")
    assert [one.words for one in changes.all("del")] == ["before: 48", "DE1"]
    assert [one.words for one in changes.all("ins")] == ["now: 480", "DE2"]
    assert not card.all("button", name="same"), "what “approve” is called has changed"


def test_an_agents_words_stay_words_in_the_difference(
    session: Session, owner: User, client: Client
) -> None:
    ask = asked(session, key="k", prompt="Refund <b>48</b>?")
    echo = echo_of(ask)
    messages.post_message(session_id=session.pk, by=owner, text="Go on.")
    turn = claim(session.runs.latest("number"))
    evil = "Refund <script>alert(1)</script>?"
    finish(turn, Outcome.BLOCKED, asks=(draft("k", evil, action=REFUND),))
    response = client.post(f"/asks/{ask.pk}/answer", {**echo, "option": "approve"}, headers=HTMX)
    assert b"<script>" not in response.content
    assert b"&lt;script&gt;" in response.content
