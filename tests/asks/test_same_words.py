"""Where a protocol has no ids, the same words are the same question: one card, one answer, and a brake."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import Outcome, RunStatus, SessionState, Status
from agents.models import Run, Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict
from asks.queue import queries
from tests.factories import begin, claim, draft, finish, verdict_on
from tests.policies.world import in_force

pytestmark = pytest.mark.django_db


def ask_in_words(session: Session, prompt: str = "Which ledger?") -> Run:
    """The session's next turn asks this, under a key of its own, and ends blocked."""
    queued = session.runs.filter(status="queued").first()
    turn = claim(queued) if queued else begin(session)
    return finish(turn, Outcome.BLOCKED, asks=(replace(draft(prompt=prompt), by_words=True),))


def test_an_equal_open_question_is_joined_and_one_verdict_answers_both_turns(
    session: Session, owner: User
) -> None:
    """A5: its owner wrote meanwhile, and the agent asks again."""
    first = ask_in_words(session)
    messages.post_message(session_id=session.pk, by=owner, text="How is it going?")
    second = ask_in_words(session)
    (asked,) = queries.needs_you(owner).asks
    assert Ask.objects.count() == 1
    assert (asked.run_id, second.status) == (second.pk, RunStatus.WAITING_HUMAN)
    first.refresh_from_db()
    second.refresh_from_db()
    session.refresh_from_db()
    assert (first.open_asks, second.open_asks, session.open_asks) == (0, 1, 1)
    assert "open already" in session.events.get(kind="ignored").data["why"]
    verdict_on(asked, owner, option="eu")
    second.refresh_from_db()
    assert second.status == RunStatus.CONTINUED
    turn = claim(session.runs.latest("number"))
    assert [given.data["option"] for given in turn.given if given.kind == "verdict"] == ["eu"]
    assert Verdict.objects.count() == 1


def test_after_start_it_is_joined_too(session: Session, owner: User) -> None:
    ask_in_words(session)
    controls.start_session(session_id=session.pk, by=owner)
    ask_in_words(session)
    assert Ask.objects.count() == 1
    session.refresh_from_db()
    assert session.status == Status.WAITING_HUMAN


def test_other_words_are_another_question(session: Session, owner: User) -> None:
    ask_in_words(session)
    controls.start_session(session_id=session.pk, by=owner)
    ask_in_words(session, "Which region?")
    assert Ask.objects.filter(status=AskStatus.OPEN).count() == 2


def test_four_eyes_are_not_passed_by_joining(
    session: Session, owner: User, colleague: User
) -> None:
    """The second run was started for somebody else, who may not answer it either."""
    in_force(session.agent, four_eyes="required")
    messages.post_message(session_id=session.pk, by=owner, text="Go.")
    ask_in_words(session)
    messages.post_message(session_id=session.pk, by=colleague, text="Go.")
    ask_in_words(session)
    barred = (
        Ask.objects.filter(status=AskStatus.OPEN).order_by("pk").values_list("barred", flat=True)
    )
    assert list(barred) == [[owner.pk], [colleague.pk]]


def test_the_fourth_time_is_a_notice_with_a_brake(session: Session, owner: User) -> None:
    """A4: whatever the answer, the agent asks again."""
    for _ in range(3):
        ask_in_words(session)
        (asked,) = queries.needs_you(owner).asks
        verdict_on(asked, owner, option="us")
    ask_in_words(session)
    assert Ask.objects.count() == 3
    assert not queries.needs_you(owner).asks
    session.refresh_from_db()
    assert session.state == SessionState.PAUSED
    assert "the same question 3 times" in session.state_reason
    assert "Which ledger?" in session.events.get(kind="notice").text
    controls.resume_session(session_id=session.pk, by=owner)
    session.refresh_from_db()
    assert session.state == SessionState.ACTIVE


def test_a_question_of_every_day_is_no_loop(session: Session, owner: User) -> None:
    for _ in range(5):
        ask_in_words(session)
        (asked,) = queries.needs_you(owner).asks
        verdict_on(asked, owner, option="us")
        Ask.objects.filter(pk=asked.pk).update(opened_at=asked.opened_at - timedelta(hours=24))
    assert Ask.objects.count() == 5
