"""What an answer allows, its deadlines, and what the database refuses, while it can be taken back."""

from __future__ import annotations

from datetime import timedelta

import pgtrigger
import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from agents import messages
from agents.db.expressions import database_now
from agents.lifecycle import RunStatus
from agents.models import Agent, Session
from agents.registration import open_session
from asks.deadlines import expiry, nudges
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import (
    Ask,
    Grant,
    Nudge,
    NudgeKind,
    Retraction,
    UndoWindow,
    Verdict,
)
from asks.policies import versions
from asks.policies.versions import effective_verdicts
from tests.effects import redeem_grant
from tests.factories import (
    REFUND,
    AskFactory,
    claim,
    finish,
)
from tests.state_machine.promises import check_all
from tests.undo.world import pass_window, press, take_back, wait_out

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(session: Session) -> Ask:
    made: Ask = AskFactory(session=session)
    return made


def test_an_approval_cannot_be_used_in_its_window(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    verdict = press(asked, owner, "approve")
    action = {"session_id": session.pk, "operation": "refund", "params": REFUND.params}
    assert redeem_grant(**action) is None
    take_back(verdict, owner)
    assert redeem_grant(**action) is None
    assert not Grant.objects.exists()


def test_a_message_in_the_window_ends_the_approval(session: Session, owner: User) -> None:
    """Whoever writes after the press may have said something else."""
    asked = AskFactory(session=session, action=REFUND)
    press(asked, owner, "approve")
    messages.post_message(session_id=session.pk, by=owner, text="Do not refund anything.")
    wait_out(session)
    assert Grant.objects.get().state == "lapsed"
    assert redeem_grant(session_id=session.pk, operation="refund", params=REFUND.params) is None
    verify.verify_ledger()


def test_a_destructive_answer_has_a_window_too(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    take_back(press(asked, owner, "deny"), owner)
    press(asked, owner, "approve")
    wait_out(session)
    assert Grant.objects.get().ask == asked


def test_what_was_taken_back_is_no_earlier_approval(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    verdict = press(asked, owner, "approve")
    policy = versions.policy_in_force(session.agent_id)
    before = (session, "refund", policy.version)
    assert not effective_verdicts().exists()
    assert not versions._approved_before(*before)
    take_back(verdict, owner)
    assert not versions._approved_before(*before)
    press(asked, owner, "approve")
    wait_out(session)
    assert versions._approved_before(*before)


def test_a_deadline_in_the_window_does_not_undo_the_answer(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, expires_in=timedelta(hours=1))
    press(asked, owner)
    Ask.objects.filter(pk=asked.pk).update(expires_at=Now())
    assert expiry.expire_due_asks() == 0
    wait_out(session)
    assert session.runs.count() == 2


def test_what_is_taken_back_after_its_deadline_expires(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, expires_in=timedelta(hours=1))
    verdict = press(asked, owner)
    Ask.objects.filter(pk=asked.pk).update(expires_at=Now() - timedelta(seconds=1))
    take_back(verdict, owner)
    assert expiry.expire_due_asks() == 1
    assert Ask.objects.get(pk=asked.pk).status == AskStatus.EXPIRED
    check_all()


def test_a_reminder_due_in_the_window_is_sent_after_a_retraction(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session)
    Nudge.objects.create(ask=asked, kind=NudgeKind.REMINDER, due_at=database_now())
    verdict = press(asked, owner)
    assert nudges.send_due_nudges() == 0
    take_back(verdict, owner)
    assert nudges.send_due_nudges() == 1


def test_the_database_refuses_what_must_never_be(asked: Ask, owner: User, colleague: User) -> None:
    verdict = press(asked, owner)
    now = database_now()
    bad = (
        {"by": colleague, "at": now},
        {"by": owner, "at": now + timedelta(seconds=1)},
        {"by": owner, "at": now - timedelta(minutes=2)},
    )
    for fields in bad:
        with pytest.raises(IntegrityError), transaction.atomic():
            Retraction.objects.create(verdict=verdict, ask_then={}, **fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        Ask.objects.filter(pk=asked.pk).update(status="open", closed_at=None, verdict=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        UndoWindow.objects.update(until=Now() + timedelta(seconds=60))
    with pytest.raises(IntegrityError), transaction.atomic():
        Verdict.objects.create(ask=asked, decided_by=owner, option=verdict.option)
    with pytest.raises(IntegrityError), transaction.atomic():
        Verdict.objects.create(ask=asked, decided_by=owner, option=verdict.option, round=1)
    pass_window(asked.session)
    with pytest.raises(IntegrityError), transaction.atomic():
        Retraction.objects.create(verdict=verdict, by=owner, ask_then={}, at=database_now())


def test_a_window_is_thirty_seconds_at_most(asked: Ask, owner: User) -> None:
    verdict = press(asked, owner, undo=timedelta(hours=1))
    assert UndoWindow.objects.get().until == verdict.decided_at + timedelta(seconds=30)


def test_a_confidential_answer_is_in_no_event(agent: Agent, owner: User) -> None:
    session = open_session(agent)
    asked = AskFactory(session=session)
    with pgtrigger.ignore("asks.Ask:terms_stay"):
        Ask.objects.filter(pk=asked.pk).update(confidential=True)
    take_back(press(asked, owner, "eu", text="the secret words"), owner)
    told = [f"{event.text} {event.data}" for event in session.events.exclude(kind="asked")]
    assert not any("secret" in text or "EU ledger" in text for text in told)


def test_a_session_that_works_is_begun_once(session: Session, owner: User) -> None:
    """Take back and press again while the turn of a message runs: one run after another."""
    asked = AskFactory(session=session)
    begin_turn = messages.post_message(session_id=session.pk, by=owner, text="Go.")
    assert begin_turn is not None
    turn = claim(begin_turn)
    take_back(press(asked, owner), owner)
    press(asked, owner, "us")
    finish(turn)
    wait_out(session)
    assert session.runs.filter(status=RunStatus.QUEUED).count() == 1
    check_all()
