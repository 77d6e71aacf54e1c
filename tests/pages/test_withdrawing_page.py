"""Taking a question back on the page."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asks.models import Ask
from tests.pages import world
from tests.pages.answers import HTMX, assert_untouched, card, post
from tests.pages.html import read

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(owner: User, colleague: User) -> Ask:
    return world.asked(world.agent_of(owner, colleague), world.question(free_text=True))


def test_with_a_reason(as_owner: Client, ask: Ask) -> None:
    response = as_owner.post(f"/asks/{ask.pk}/withdraw", {"reason": "not needed"}, headers=HTMX)
    assert "olga withdrew the question: “not needed”" in card(response, ask).words
    ask.refresh_from_db()
    assert (ask.status, ask.close_reason) == ("withdrawn", "not needed")


def test_without_scripts_and_without_a_reason(as_owner: Client, ask: Ask) -> None:
    response = as_owner.post(f"/asks/{ask.pk}/withdraw", follow=True)
    assert (
        "You withdrew ledger-close's question. Nothing was approved."
        in read(response.content).one("div", id="toasts").words
    )


def test_twice_is_no_error(as_owner: Client, ask: Ask) -> None:
    for _ in range(2):
        assert as_owner.post(f"/asks/{ask.pk}/withdraw", headers=HTMX).status_code == 200


def test_one_that_was_answered_stays_answered(
    as_owner: Client, as_colleague: Client, ask: Ask
) -> None:
    post(as_owner, ask, option="eu")
    response = as_colleague.post(f"/asks/{ask.pk}/withdraw", {"reason": "x"}, headers=HTMX)
    assert response.status_code == 409
    ask.refresh_from_db()
    assert ask.status == "answered"


@pytest.mark.parametrize("reason", ["", "\x00", "\u200b", "x" * 900_000])
def test_an_odd_reason_is_no_error(as_owner: Client, ask: Ask, reason: str) -> None:
    assert (
        as_owner.post(f"/asks/{ask.pk}/withdraw", {"reason": reason}, headers=HTMX).status_code
        == 200
    )


def test_a_stranger_finds_nothing(as_stranger: Client, ask: Ask) -> None:
    assert as_stranger.post(f"/asks/{ask.pk}/withdraw").status_code == 404
    assert_untouched(ask)
