"""An answer is bound to the run that was there when it was shown; every other run makes it stale."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from agents import controls, messages
from agents.jobs import tick
from agents.lifecycle import Cause, RunStatus
from agents.models import Agent, Run, Session
from asks.answering import Answered, answer_ask
from asks.lifecycle import Reason
from asks.models import Ask
from asks.refusals import Refused
from tests.factories import REFUND, AgentFactory, AskFactory, claim, echo_of, finish, home_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(owner: User) -> Agent:
    """It wakes by a schedule, and when somebody says so."""
    return AgentFactory(
        slug="ledger", owners=[owner], wake={"kind": "schedule", "every_seconds": 300}
    )


@pytest.fixture
def ask(session: Session) -> Ask:
    Session.objects.filter(pk=session.pk).update(wake_at=None, wake_cause="")
    asked: Ask = AskFactory(session=session, action=REFUND)
    return asked


def stale(ask: Ask, by: User) -> Ask:
    """It is refused as stale; what is asked in its place."""
    late = answer_ask(ask_id=ask.pk, by=by, option="approve", echo=echo_of(ask))
    assert isinstance(late, Refused)
    assert late.reason == Reason.STALE
    assert late.replaced_by is not None
    return late.replaced_by


def by_message(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Something else first.")


def by_hand(session: Session, owner: User) -> None:
    assert controls.start_session(session_id=session.pk, by=owner)


def by_schedule(session: Session, owner: User) -> None:
    """Once the message's run is over, its question is still open, and the clock strikes."""
    by_message(session, owner)
    finish(claim(session.runs.latest("number")))
    Session.objects.filter(pk=session.pk).update(wake_at=Now(), wake_cause=Cause.SCHEDULE)
    assert tick.run_tick()
    assert session.runs.latest("number").number == 3


@pytest.mark.case("C25")
@pytest.mark.parametrize(
    ("another_run", "version"), [(by_message, "2.1"), (by_hand, "2.1"), (by_schedule, "3.1")]
)
def test_another_run_of_the_session(
    ask: Ask, owner: User, another_run: Callable[[Session, User], None], version: str
) -> None:
    another_run(ask.session, owner)
    assert stale(ask, owner).gate.run_version == version


@pytest.mark.case("C25")
def test_a_take_over_of_the_run(ask: Ask, owner: User) -> None:
    by_message(ask.session, owner)
    fresh = stale(ask, owner)
    run = ask.session.runs.latest("number")
    claim(run)
    Run.objects.filter(pk=run.pk).update(lease_until=Now())
    claim(run, worker="another")
    again = stale(fresh, owner)
    assert again.gate.run_version == "2.2"


def test_a_run_that_only_goes_on_moves_nothing(ask: Ask, owner: User) -> None:
    by_message(ask.session, owner)
    fresh = stale(ask, owner)
    turn = claim(ask.session.runs.latest("number"))
    echo = echo_of(fresh)
    finish(turn)
    done = answer_ask(ask_id=fresh.pk, by=owner, option="approve", echo=echo)
    assert isinstance(done, Answered)
    assert ask.session.runs.latest("number").status == RunStatus.QUEUED
    assert home_of(ask.agent) == ask.session
