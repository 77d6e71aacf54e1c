"""The receipt of a decision: complete, for its owners only, and honest about its proof."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents.lifecycle import Outcome
from agents.models import Session
from asks import answering, withdrawing
from asks.ledger import anchors
from asks.models import Ask, LedgerRecord, Verdict
from tests.ledger.tampering import execute, overwrite
from tests.ledger.world import (
    Draft,
    agent_of,
    ask_of,
    decide,
    echo_of,
    end_turn,
    home,
    person,
    take_turn,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return person("olga")


@pytest.fixture
def session(owner: User) -> Session:
    return home(agent_of(owner))


@pytest.fixture
def ask(owner: User, session: Session) -> Ask:
    (ask,) = ask_of(session, owner, Draft(context={"ticket": "T-1"}))
    return ask


def page(ask: Ask, reader: User, status: int = 200) -> str:
    """The words of the receipt as this reader gets it."""
    client = Client()
    client.force_login(reader)
    response = client.get(f"/decisions/{ask.pk}/receipt/")
    assert response.status_code == status
    (main,) = re.findall(r"<main.*</main>", response.content.decode(), re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_it_tells_all_there_is_to_tell(ask: Ask, owner: User, session: Session) -> None:
    answering.answer_ask(ask_id=ask.pk, by=owner, option="maybe", echo=echo_of(ask))
    decide(ask, owner, "yes", "Only this once")
    words = page(ask, owner)
    record = LedgerRecord.objects.get(kind="verdict")
    for told in (
        "May I refund order 1182?",
        "Approve it (chosen)",
        "Deny it",
        "refund",
        "420.00",
        "T-1",
        "olga answered Approve it",
        "Only this once",
        "policy v0",
        "Policy version 0",
        ask.gate.action_hash,
        "Through this workspace",
        "olga. That option was not offered.",
        "waits for the next run",
        "chain of this session holds",
        "No anchor covers it yet",
        record.hash,
        f"session:{session.pk}, number {record.seq}",
    ):
        assert told in words


def test_it_tells_what_ran_and_how_that_ended(ask: Ask, owner: User, session: Session) -> None:
    decide(ask, owner)
    turn = take_turn(session, owner)
    assert "Run 2 carries it now" in page(ask, owner)
    end_turn(turn, Outcome.RETRYABLE_ERROR)
    assert "waits for the next run, after 1 run that failed" in page(ask, owner)
    end_turn(take_turn(session, owner), Outcome.WORK_DONE)
    assert "Run 3 carried it and completed" in page(ask, owner)
    assert "after 1 run that failed" in page(ask, owner)


def test_an_anchor_over_it_is_named(ask: Ask, owner: User) -> None:
    decide(ask, owner)
    made = anchors.write_anchor()
    assert made is not None
    words = page(ask, owner)
    assert "Anchor 1 covers it" in words
    assert made.hash in words


def test_the_difference_to_what_was_asked_before(ask: Ask, owner: User, session: Session) -> None:
    """A stale answer was refused and the question asked anew: both receipts say so."""
    take_turn(session, owner)
    answering.answer_ask(ask_id=ask.pk, by=owner, option="yes", echo=echo_of(ask))
    ask.refresh_from_db()
    fresh = ask.superseded_by
    assert fresh is not None
    decide(fresh, owner)
    assert f"Asked again as question {fresh.pk}" in page(ask, owner)
    assert f"Asked before as question {ask.pk} , which had changed" in page(fresh, owner)


def test_a_withdrawal_has_a_receipt_too(ask: Ask, owner: User) -> None:
    withdrawing.withdraw_ask(ask_id=ask.pk, by=owner, reason="Not needed")
    words = page(ask, owner)
    assert "olga withdrew the question" in words
    assert "Nothing: nothing was approved" in words
    assert "chain of this session holds" in words


def test_strangers_and_open_questions_have_none(ask: Ask, owner: User) -> None:
    page(ask, owner, status=404)
    decide(ask, owner)
    page(ask, person("sam"), status=404)
    assert Client().get(f"/decisions/{ask.pk}/receipt/").status_code == 302


@pytest.mark.parametrize("what", ["row", "record", "gone"])
def test_what_cannot_be_proved_is_said(ask: Ask, owner: User, what: str) -> None:
    verdict = decide(ask, owner)
    record = LedgerRecord.objects.get(kind="verdict")
    if what == "row":
        overwrite(verdict, "text", "forged")
    elif what == "record":
        overwrite(record, "body", record.body.replace("refund", "reward"))
    else:
        execute(LedgerRecord, "DELETE FROM {table}")
    words = page(ask, owner)
    assert "This cannot be proved" in words
    assert "holds" not in words


@pytest.mark.parametrize(
    ("headers", "device"),
    [
        (
            {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Mobile/15E148"},
            "a phone or tablet",
        ),
        ({"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0)"}, "a computer"),
        ({"User-Agent": "curl/8"}, ""),
    ],
)
def test_the_class_of_device_is_kept(
    ask: Ask, owner: User, headers: dict[str, str], device: str
) -> None:
    client = Client(headers=headers)
    client.force_login(owner)
    fields = {name: str(value) for name, value in (echo_of(ask) or {}).items()}
    client.post(f"/asks/{ask.pk}/answer", {"option": "yes", **fields})
    assert Verdict.objects.filter(ask=ask).exists()
    assert (f"from {device}" in page(ask, owner)) is bool(device)


def test_its_queries_do_not_grow_with_the_session(
    owner: User, session: Session, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    asks = ask_of(session, owner, *(Draft() for _ in range(12)))
    for ask in asks:
        decide(ask, owner)
    client = Client()
    client.force_login(owner)
    with django_assert_max_num_queries(24):
        assert client.get(f"/decisions/{asks[3].pk}/receipt/").status_code == 200
