"""The receipt of an approval says what it released, and what became of that."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Session
from asks.actions import grants
from asks.answering import answer_ask
from asks.models import Ask
from tests.factories import REFUND, AskFactory, claim, echo_of, verdict_on
from tests.pages.html import read
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db


def receipt(person: User, ask: Ask) -> str:
    client = Client()
    client.force_login(person)
    response = client.get(f"/decisions/{ask.pk}/receipt/")
    assert response.status_code == 200
    return read(response.content).words


def test_what_was_released_and_how_it_ended(session: Session, owner: User) -> None:
    ask = AskFactory(session=session, action=REFUND)
    verdict_on(ask, owner)
    assert "The approval was not taken yet: nothing was done by it." in receipt(owner, ask)
    turn = claim(session.runs.latest("number"))
    begun = grants.begin_effect(
        session_id=session.pk, operation="refund", params=REFUND.params, fence=turn.fence
    )
    assert begun is not None
    assert "How that ended is not known yet." in receipt(owner, ask)
    grants.finish_effect(begun, happened=False, detail="Card declined.")
    assert "It did not happen. Card declined." in receipt(owner, ask)


def test_a_rejection_released_nothing(session: Session, owner: User) -> None:
    ask = AskFactory(session=session, action=REFUND)
    verdict_on(ask, owner, option="deny")
    assert "The approval" not in receipt(owner, ask)


def test_who_voted_and_what_had_changed(session: Session, owner: User, colleague: User) -> None:
    old = asked(session)
    echo = echo_of(old)
    in_force(session.agent, refund(quorum=2))
    late = answer_ask(ask_id=old.pk, by=owner, option="approve", echo=echo)
    fresh = late.replaced_by  # type: ignore[union-attr]
    assert fresh is not None
    for person in (owner, colleague):
        answer_ask(ask_id=fresh.pk, by=person, option="approve", echo=echo_of(fresh))
    words = receipt(owner, fresh)
    assert "olga voted: Approve once" in words
    assert "carl voted: Approve once" in words
    assert "policy version 0 → 1: For a test." in words
