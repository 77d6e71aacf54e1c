"""Workers, ticks, people and other agents change the same session at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.transaction import TransactionManagementError

from agents import claims, controls, messages, settlement
from agents.db.expressions import database_now
from agents.jobs import tick
from agents.lifecycle import Cause, Outcome, RunStatus, Status
from agents.locking import lock_session, share_lock_agent
from agents.models import Agent, Run, Session
from agents.registration import open_session
from agents.running.runtime import Ended, Mail, Turn
from agents.status import derive_status
from agents.transitions import live_run, status_facts
from asks.retirement import retire_agent
from tests.factories import AgentFactory, AskFactory, begin, draft, home_of, turn_of
from tests.races.racing import Beside, pass_by, race

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(session: Session, owner: User) -> Run:
    queued = controls.start_session(session_id=session.pk, by=owner)
    assert queued is not None
    return queued


def stored_status_is_the_derived_one(session: Session) -> bool:
    session = Session.objects.select_related("agent").get(pk=session.pk)
    return (session.status, session.status_reason) == (
        (derived := derive_status(status_facts(session, live_run(session)))).status,
        derived.reason,
    )


@pytest.mark.case("aoa-26")
def test_two_workers_claim_a_queued_run(run: Run) -> None:
    raced = race(
        partial(claims.claim_run, run_id=run.pk, worker="one"),
        partial(claims.claim_run, run_id=run.pk, worker="two"),
    )
    assert isinstance(raced.first, Turn)
    assert raced.second is None
    run.refresh_from_db()
    assert (run.worker, run.epoch) == ("one", 1)


def test_two_workers_take_a_lapsed_run_over(session: Session) -> None:
    begin(session)
    Run.objects.update(lease_until=database_now() - timedelta(seconds=1))
    run = Run.objects.get()
    raced = race(
        partial(claims.claim_run, run_id=run.pk, worker="one"),
        partial(claims.claim_run, run_id=run.pk, worker="two"),
    )
    assert isinstance(raced.first, Turn)
    assert (raced.first.epoch, raced.second) == (2, None)


def test_a_take_over_and_the_old_claims_settling(session: Session) -> None:
    turn = begin(session)
    Run.objects.update(lease_until=database_now() - timedelta(seconds=1))
    raced = race(
        partial(claims.claim_run, run_id=turn.run_id, worker="two"),
        partial(
            settlement.settle_run, turn.fence, Ended(outcome=Outcome.WORK_DONE, asks=(draft(),))
        ),
    )
    assert isinstance(raced.first, Turn)
    assert raced.second is False
    assert session.asks.count() == 0


def test_settling_and_a_late_take_over(session: Session) -> None:
    turn = begin(session)
    Run.objects.update(lease_until=database_now() - timedelta(seconds=1))
    raced = race(
        partial(settlement.settle_run, turn.fence, Ended(outcome=Outcome.WORK_DONE)),
        partial(claims.claim_run, run_id=turn.run_id, worker="two"),
    )
    assert (raced.first, raced.second) == (True, None)


def test_a_stop_and_a_settling(session: Session, owner: User) -> None:
    turn = begin(session)
    raced = race(
        partial(controls.stop_session, session_id=session.pk, by=owner),
        partial(settlement.settle_run, turn.fence, Ended(outcome=Outcome.WORK_DONE)),
    )
    assert (raced.first, raced.second) == (True, False)
    assert session.runs.get().status == RunStatus.CANCELLED


@pytest.fixture
def due(owner: User) -> Session:
    session = open_session(AgentFactory(owners=[owner]))
    Session.objects.filter(pk=session.pk).update(
        wake_at=database_now() - timedelta(hours=14), wake_cause=Cause.SCHEDULE
    )
    return session


@pytest.mark.case("aoa-9")
def test_two_ticks_start_a_due_session_once(due: Session) -> None:
    raced = pass_by(tick.run_tick, tick.run_tick)
    assert (raced.first, raced.second) == (1, 0)
    assert due.runs.count() == 1
    assert tick.run_tick() == 0


def test_a_tick_leaves_a_session_that_somebody_is_busy_with(due: Session, owner: User) -> None:
    message = partial(messages.post_message, session_id=due.pk, by=owner, text="Hello.")
    raced = pass_by(message, tick.run_tick)
    assert raced.second == 0
    assert due.runs.get().cause == Cause.HUMAN


def test_a_message_after_an_uncommitted_tick_starts_no_second_run(
    due: Session, owner: User
) -> None:
    message = partial(messages.post_message, session_id=due.pk, by=owner, text="Hello.")
    raced = race(tick.run_tick, message)
    assert (raced.first, raced.second) == (1, None)
    assert due.runs.count() == 1


SETTLED = [
    (Ended(outcome=Outcome.NO_WORK), RunStatus.COMPLETED),
    (Ended(outcome=Outcome.BLOCKED), RunStatus.CONTINUED),
    (Ended(outcome=Outcome.BLOCKED, asks=(draft(),)), RunStatus.CONTINUED),
    (Ended(outcome=Outcome.RETRYABLE_ERROR), RunStatus.FAILED),
]


@pytest.mark.case("C44")
@pytest.mark.parametrize(("ended", "status"), SETTLED)
def test_message_then_settle(
    session: Session, owner: User, ended: Ended, status: RunStatus
) -> None:
    turn = begin(session)
    race(
        partial(messages.post_message, session_id=session.pk, by=owner, text="Meanwhile."),
        partial(settlement.settle_run, turn.fence, ended),
    )
    assert [run.status for run in session.runs.order_by("number")] == [status, RunStatus.QUEUED]
    assert stored_status_is_the_derived_one(session)


@pytest.mark.parametrize(("ended", "status"), SETTLED)
def test_settle_then_message(
    session: Session, owner: User, ended: Ended, status: RunStatus
) -> None:
    turn = begin(session)
    race(
        partial(settlement.settle_run, turn.fence, ended),
        partial(messages.post_message, session_id=session.pk, by=owner, text="Meanwhile."),
    )
    if status == RunStatus.CONTINUED and not ended.asks:
        status = RunStatus.COMPLETED
    assert [run.status for run in session.runs.order_by("number")] == [status, RunStatus.QUEUED]
    assert stored_status_is_the_derived_one(session)


def test_two_agents_that_write_to_each_other_do_not_deadlock(owner: User) -> None:
    """Both wait for the same first lock; in any other order one would hold the second lock."""
    low, high = (home_of(AgentFactory(slug=slug, owners=[owner])) for slug in ("low", "high"))
    turns = {"low": begin(low), "high": begin(high)}

    def end(me: str, other: str) -> Callable[[], bool]:
        ended = Ended(outcome=Outcome.WORK_DONE, mails=(Mail(other, "Your turn."),))
        return partial(settlement.settle_run, turns[me].fence, ended)

    with transaction.atomic():
        lock_session(low.pk)
        beside = []
        for verb in (end("low", "high"), end("high", "low")):
            beside.append(Beside(verb))
            beside[-1].wait_until_blocked()
    assert [other.result() for other in beside] == [True, True]
    for session in (low, high):
        assert [run.status for run in session.runs.order_by("number")] == ["completed", "queued"]
        assert stored_status_is_the_derived_one(session)


@pytest.mark.parametrize("pause_first", [True, False])
def test_mail_and_a_pause_of_its_recipient(
    session: Session, owner: User, pause_first: bool
) -> None:
    scout = home_of(AgentFactory(slug="scout", owners=[owner]))
    turn = begin(session)
    verbs: list[Callable[[], object]] = [
        partial(controls.pause_agent, agent_id=scout.agent_id, by=owner),
        partial(
            settlement.settle_run,
            turn.fence,
            Ended(outcome=Outcome.WORK_DONE, mails=(Mail("scout", "Hi."),)),
        ),
    ]
    race(*(verbs if pause_first else reversed(verbs)))
    scout.refresh_from_db()
    assert scout.status == Status.PAUSED
    assert scout.inbox.get().state == "queued"
    assert not scout.runs.filter(status=RunStatus.QUEUED).exists()


def test_mail_to_an_agent_that_is_being_retired(session: Session, owner: User) -> None:
    scout = home_of(AgentFactory(slug="scout", owners=[owner]))
    turn = begin(session)
    race(
        partial(retire_agent, agent_id=scout.agent_id, by=owner),
        partial(
            settlement.settle_run,
            turn.fence,
            Ended(outcome=Outcome.WORK_DONE, mails=(Mail("scout", "Hi."),)),
        ),
    )
    assert not scout.inbox.exists()
    assert session.events.filter(kind="mail_lost").count() == 1


def test_two_sessions_of_an_agent_are_opened_side_by_side(session: Session) -> None:
    raced = pass_by(
        partial(open_session, session.agent, external_id="one"),
        partial(open_session, session.agent, external_id="two"),
    )
    assert {raced.first.external_id, raced.second.external_id} == {"one", "two"}


def test_an_agent_is_held_in_a_transaction_only(session: Session) -> None:
    with pytest.raises(TransactionManagementError):
        share_lock_agent(session.agent_id)


def test_whoever_retires_an_agent_waits_for_a_session_that_is_being_opened(
    session: Session, owner: User
) -> None:
    raced = race(
        partial(open_session, session.agent, external_id="new"),
        partial(retire_agent, agent_id=session.agent_id, by=owner),
    )
    raced.first.refresh_from_db()
    assert raced.first.status == Status.RETIRED


def test_a_message_that_waited_for_a_pause_sees_the_pause(session: Session, owner: User) -> None:
    """A row joined to a locked row is not re-read after the wait, so the agent is read separately."""
    race(
        partial(controls.pause_agent, agent_id=session.agent_id, by=owner),
        partial(messages.post_message, session_id=session.pk, by=owner, text="Hello."),
    )
    session.refresh_from_db()
    assert (session.status, session.runs.count()) == (Status.PAUSED, 0)
    assert stored_status_is_the_derived_one(session)
    controls.resume_agent(agent_id=session.agent_id, by=owner)
    assert session.runs.count() == 1


def test_a_claim_that_waited_for_a_pause_claims_nothing(
    session: Session, owner: User, run: Run
) -> None:
    raced = race(
        partial(controls.pause_agent, agent_id=session.agent_id, by=owner),
        partial(claims.claim_run, run_id=run.pk, worker="one"),
    )
    assert raced.second is None


@pytest.mark.parametrize("pause_first", [True, False])
def test_a_session_that_opens_while_its_agent_is_paused(
    agent: Agent, owner: User, pause_first: bool
) -> None:
    verbs: list[Callable[[], object]] = [
        partial(controls.pause_agent, agent_id=agent.pk, by=owner),
        partial(open_session, agent, title="new"),
    ]
    race(*(verbs if pause_first else reversed(verbs)))
    assert Session.objects.get(title="new").status == Status.PAUSED


def test_pause_and_a_turn_that_asks_do_not_deadlock(session: Session, owner: User) -> None:
    """Raising an ask refers to the agent's row, which the pause holds while it waits for the session."""
    turn = begin(session)
    ended = Ended(outcome=Outcome.BLOCKED, asks=(draft(),))
    with transaction.atomic():
        lock_session(session.pk)
        settling_one = Beside(partial(settlement.settle_run, turn.fence, ended))
        settling_one.wait_until_blocked()
        pausing = Beside(partial(controls.pause_agent, agent_id=session.agent_id, by=owner))
        pausing.wait_until_blocked()
    assert settling_one.result()
    pausing.result()
    session.refresh_from_db()
    assert (session.status, session.open_asks) == (Status.PAUSED, 1)


def test_two_people_start_a_waiting_session(session: Session, owner: User, colleague: User) -> None:
    AskFactory(session=session)
    raced = race(
        partial(controls.start_session, session_id=session.pk, by=owner),
        partial(controls.start_session, session_id=session.pk, by=colleague),
    )
    assert raced.first == raced.second
    assert session.runs.count() == 2


def test_other_sessions_do_not_wait(session: Session, agent: Agent, owner: User) -> None:
    other = open_session(agent)
    raced = pass_by(
        partial(messages.post_message, session_id=session.pk, by=owner, text="One."),
        partial(messages.post_message, session_id=other.pk, by=owner, text="Two."),
    )
    assert raced.first
    assert raced.second
    assert turn_of(open_session(agent)).status == RunStatus.COMPLETED
