"""A person's message outranks every other cause and is delivered once."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import Cause, InboxState, Outcome, RunStatus, Status
from agents.messages import BadMessage, EmptyMessage, NotSent, SessionIsOver
from agents.models import Session
from asks.lifecycle import AskStatus
from asks.retirement import retire_agent
from tests.factories import AskFactory, begin, claim, finish, turn_of

pytestmark = pytest.mark.django_db


@pytest.mark.case("aoa-33")
def test_a_message_starts_a_run_that_carries_it(session: Session, owner: User) -> None:
    run = messages.post_message(session_id=session.pk, by=owner, text=" Hello. \n")
    assert run is not None
    assert (run.status, run.cause) == (RunStatus.QUEUED, Cause.HUMAN)
    (given,) = claim(run).given
    assert (given.kind, given.author, given.body) == ("message", "human:olga", " Hello. \n")
    event = session.events.get(kind="message")
    assert (event.actor, event.text) == ("human:olga", " Hello. \n")


def test_two_messages_start_one_run(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="One.")
    assert messages.post_message(session_id=session.pk, by=owner, text="Two.") is None
    assert [given.body for given in claim(session.runs.get()).given] == ["One.", "Two."]


def test_a_message_releases_a_waiting_run_and_leaves_its_asks_open(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session)
    messages.post_message(session_id=session.pk, by=owner, text="Explain first.")
    asked.refresh_from_db()
    assert asked.status == AskStatus.OPEN
    assert [run.status for run in session.runs.order_by("number")] == ["continued", "queued"]
    session.refresh_from_db()
    assert (session.status, session.open_asks) == (Status.QUEUED, 1)


def test_a_message_mid_turn_starts_the_next(session: Session, owner: User) -> None:
    turn = begin(session)
    messages.post_message(session_id=session.pk, by=owner, text="Also this.")
    finish(turn)
    assert [given.body for given in claim(session.runs.latest("number")).given] == ["Also this."]


def test_a_message_does_not_wait_for_a_back_off(session: Session, owner: User) -> None:
    turn_of(session, Outcome.RETRYABLE_ERROR)
    assert messages.post_message(session_id=session.pk, by=owner, text="Now.") is not None


@pytest.mark.case("aoa-37")
def test_a_persons_message_is_never_given_up(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Important.")
    for _ in range(5):
        finish(claim(session.runs.latest("number")), Outcome.RETRYABLE_ERROR)
        controls.start_session(session_id=session.pk, by=owner)
    assert session.inbox.get().state == InboxState.QUEUED
    assert [given.body for given in claim(session.runs.latest("number")).given] == ["Important."]


def test_a_paused_agent_keeps_it(session: Session, owner: User) -> None:
    controls.pause_agent(agent_id=session.agent_id, by=owner)
    assert messages.post_message(session_id=session.pk, by=owner, text="Later.") is None
    session.refresh_from_db()
    assert session.status == Status.PAUSED
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    assert [given.body for given in claim(session.runs.get()).given] == ["Later."]


REFUSED: list[tuple[object, type[NotSent]]] = [
    ("", EmptyMessage),
    (" \t\r\n", EmptyMessage),
    ("\u200b\ufeff", EmptyMessage),
    ("a\0", BadMessage),
    ("\ud800", BadMessage),
    ("x" * 16_001, BadMessage),
    ("x" * 2_000_000, BadMessage),
    ("\u200b" * 2_000_000, BadMessage),
    (None, BadMessage),
    (5, BadMessage),
    (b"Hello.", BadMessage),
    (["Hello."], BadMessage),
]


@pytest.mark.case("C01")
@pytest.mark.parametrize(("text", "error"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_sent(
    session: Session, owner: User, text: object, error: type[NotSent]
) -> None:
    with pytest.raises(error):
        messages.post_message(session_id=session.pk, by=owner, text=text)  # type: ignore[arg-type]
    assert not session.inbox.exists()
    assert not session.runs.exists()


def test_a_message_may_be_long(session: Session, owner: User) -> None:
    assert messages.post_message(session_id=session.pk, by=owner, text="x" * 16_000)


def test_a_session_that_is_over_takes_none(session: Session, owner: User) -> None:
    retire_agent(agent_id=session.agent_id, by=owner)
    with pytest.raises(SessionIsOver):
        messages.post_message(session_id=session.pk, by=owner, text="Hello?")
    assert not session.inbox.exists()
