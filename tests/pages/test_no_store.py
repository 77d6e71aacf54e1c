"""Private pages are kept in no store, so that Back shows what is true now."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asks.answering import answer_ask
from tests.pages import world

pytestmark = pytest.mark.django_db
PAGES = [
    "/",
    "/agents/",
    "/decisions/",
    "/backlog/",
    "/given-up/",
    "/account/hours/",
    "/login",
    "/nothing",
]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_stored(as_owner: Client, path: str) -> None:
    assert "no-store" in as_owner.get(path)["Cache-Control"]


def test_neither_is_the_page_of_an_ask_or_a_session(as_owner: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner))
    for path in (f"/asks/{ask.pk}/", f"/sessions/{ask.session_id}/", f"/asks/{ask.pk}/receipt"):
        assert "no-store" in as_owner.get(path)["Cache-Control"]


def test_the_page_of_an_ask_learns_what_became_of_it(as_owner: Client, owner: User) -> None:
    ask = world.asked(world.agent_of(owner))
    address = f"/asks/{ask.pk}/changes?have=ask-{ask.pk}.{ask.card_version}"
    assert as_owner.get(address).content == b""
    answer_ask(ask_id=ask.pk, by=owner, option="eu")
    assert "EU ledger" in as_owner.get(address).content.decode()
