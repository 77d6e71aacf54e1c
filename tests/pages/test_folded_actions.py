"""An approval covers only what was shown as a whole, with scripts and without."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from asks.drafts import ActionDraft
from asks.models import Ask, Verdict
from tests.pages import world

pytestmark = pytest.mark.django_db
LONG = {
    "letters": "a" * 280 + " rm -rf / " + "b" * 311,
    "lines": "x\n" * 6 + "rm -rf /\n" + "y\n" * 6,
}


def ask_for(owner: User, params: dict[str, object]) -> Ask:
    return world.asked(world.agent_of(owner), world.approval(action=ActionDraft("run", params)))


def chosen() -> str:
    option = Verdict.objects.get().option
    return option.key if option else ""


def post(client: Client, ask: Ask, **fields: str) -> str:
    response = client.post(f"/asks/{ask.pk}/answer", {**world.echo_of(ask), **fields})
    return response.content.decode()


@pytest.mark.parametrize("name", sorted(LONG))
def test_a_folded_text_is_shown_before_its_approval_counts(
    as_owner: Client, owner: User, name: str
) -> None:
    ask = ask_for(owner, {name: LONG[name]})
    shown = as_owner.get("/").content.decode()
    assert 'name="whole"' in shown
    assert "<details" in shown
    page = post(as_owner, ask, option="approve", whole="")
    assert not Verdict.objects.exists()
    assert "Press again to be sure." in page
    assert "data-fold open" in page
    assert "rm -rf /" in page
    post(as_owner, ask, option="approve", confirmed="approve", whole="1")
    assert chosen() == "approve"


def test_who_confirmed_elsewhere_still_sees_it_as_a_whole(as_owner: Client, owner: User) -> None:
    ask = ask_for(owner, {"letters": LONG["letters"]})
    post(as_owner, ask, same="approve", whole="")
    assert not Verdict.objects.exists()


def test_a_rejection_needs_no_reading(as_owner: Client, owner: User) -> None:
    ask = ask_for(owner, {"letters": LONG["letters"]})
    post(as_owner, ask, option="reject", whole="")
    assert chosen() == "reject"


def test_what_has_no_fold_is_pressed_once(as_owner: Client, owner: User) -> None:
    ask = ask_for(owner, {"amount": 48})
    page = as_owner.get("/").content.decode()
    assert 'value="1"' in page[page.index('name="whole"') :][:60]
    post(as_owner, ask, option="approve", whole="1")
    assert chosen() == "approve"
