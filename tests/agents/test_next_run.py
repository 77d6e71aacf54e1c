"""When runs are queued, and what the tick does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents import claims, controls, inbox
from agents.db.expressions import database_now
from agents.jobs import queue, tick
from agents.lifecycle import AgentState, Cause, InboxKind, Outcome, RunStatus, Status
from agents.locking import lock_session
from agents.models import Agent, Run, Session
from tests.factories import AgentFactory, AskFactory, begin, claim, finish, home_of, turn_of

pytestmark = pytest.mark.django_db


def jobs() -> list[int]:
    """Return the ids of the runs that jobs in the queue refer to."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (args->>'run_id')::bigint FROM procrastinate_jobs WHERE task_name = %s ORDER BY id",
            [queue.DISPATCH],
        )
        return [row[0] for row in cursor.fetchall()]


def make_due(session: Session, **ago: float) -> None:
    moment = database_now() - timedelta(**ago) if ago else database_now()
    Session.objects.filter(pk=session.pk).update(wake_at=moment, wake_cause=Cause.SCHEDULE)


@pytest.mark.case("aoa-65")
@pytest.mark.parametrize(
    ("wake", "status"),
    [
        ({"kind": "continuous"}, Status.QUEUED),
        ({"kind": "schedule", "every_seconds": 3600}, Status.QUEUED),
        ({"kind": "schedule", "cron": "0 0 1 1 *"}, Status.SCHEDULED),
        ({"kind": "manual"}, Status.MANUAL),
        ({"kind": "on_message"}, Status.WAITING_EVENT),
    ],
)
def test_an_agent_that_is_registered_starts_by_its_policy(
    owner: User, wake: dict[str, Any], status: Status
) -> None:
    session = home_of(AgentFactory(owners=[owner], wake=wake))
    assert session.status == status
    assert session.runs.count() == (1 if status == Status.QUEUED else 0)


def test_a_run_and_its_job_are_one(session: Session, owner: User) -> None:
    run = controls.start_session(session_id=session.pk, by=owner)
    assert run is not None
    assert (run.status, run.number, run.cause, run.epoch) == (RunStatus.QUEUED, 1, Cause.HUMAN, 0)
    assert jobs() == [run.pk]


@pytest.mark.case("aoa-9")
def test_fourteen_hours_of_missed_starts_are_one_start(owner: User) -> None:
    session = home_of(AgentFactory(owners=[owner], wake={"kind": "schedule", "every_seconds": 600}))
    finish(claim(session.runs.get()))
    make_due(session, hours=14)
    assert tick.run_tick() == 1
    assert tick.run_tick() == 0
    finish(claim(session.runs.latest("number")))
    session.refresh_from_db()
    assert session.runs.count() == 2
    assert session.wake_at is not None
    assert session.wake_at > database_now() + timedelta(seconds=590)


@pytest.mark.case("C116", "X3")
@pytest.mark.parametrize("wake", [{"kind": "continuous"}, {"kind": "schedule", "every_seconds": 1}])
def test_a_schedule_waits_behind_a_question(owner: User, wake: dict[str, Any]) -> None:
    session = home_of(AgentFactory(owners=[owner], wake=wake))
    finish(claim(session.runs.get()))
    AskFactory(session=session)
    make_due(session, hours=1)
    tick.run_tick()
    tick.run_tick()
    assert [run.status for run in session.runs.order_by("number")] == ["completed", "waiting_human"]


def test_what_is_not_due_is_left(owner: User) -> None:
    session = home_of(AgentFactory(owners=[owner], wake={"kind": "continuous"}))
    finish(claim(session.runs.get()))
    assert tick.run_tick() == 0


@pytest.mark.parametrize("lifecycle", [AgentState.DRAFT, AgentState.PAUSED, AgentState.RETIRED])
def test_time_starts_only_active_agents(
    agent: Agent, session: Session, lifecycle: AgentState
) -> None:
    Agent.objects.filter(pk=agent.pk).update(lifecycle=lifecycle)
    make_due(session)
    tick.run_tick()
    assert session.runs.count() == 0


@pytest.mark.case("aoa-8")
@pytest.mark.parametrize(
    ("kind", "cause"), [(InboxKind.MESSAGE, Cause.HUMAN), (InboxKind.MAIL, Cause.MAIL)]
)
def test_something_owed_is_never_slept_over(
    session: Session, kind: InboxKind, cause: Cause
) -> None:
    """No code leaves a session in this state; if a bug did, the tick would find it."""
    inbox.enqueue_item(lock_session(session.pk), kind, author="human:olga", body="Forgotten.")
    assert tick.run_tick() == 1
    assert session.runs.get().cause == cause
    assert [given.body for given in claim(session.runs.get()).given] == ["Forgotten."]


def test_a_healthy_session_is_not_woken(session: Session) -> None:
    turn_of(session)
    assert tick.run_tick() == 0


@pytest.mark.case("aoa-26")
def test_a_lapsed_claim_may_be_taken_and_only_completion_retires(
    session: Session, owner: User
) -> None:
    from agents import messages

    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    run = session.runs.get()
    first = claim(run)
    assert claims.claim_run(run_id=run.pk, worker="other") is None
    Run.objects.filter(pk=run.pk).update(lease_until=database_now() - timedelta(seconds=1))
    second = claim(run, worker="other")
    assert [given.body for given in second.given] == [given.body for given in first.given]
    assert session.inbox.get().state == "leased"
    finish(second)
    assert session.inbox.get().state == "acked"


@pytest.mark.parametrize(
    "status", [RunStatus.WAITING_HUMAN, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED]
)
def test_there_is_nothing_to_claim_of_a_run_that_is_not_queued(
    session: Session, status: RunStatus
) -> None:
    from tests.factories import RunFactory

    run = RunFactory(session=session, status=status)
    assert claims.claim_run(run_id=run.pk, worker="late") is None
    assert claims.claim_run(run_id=4711, worker="late") is None


def test_a_turn_knows_what_came_before(session: Session) -> None:
    turn_of(session, Outcome.NO_WORK, report="Nothing new.")
    turn = begin(session)
    assert turn.last_outcome == Outcome.NO_WORK
    assert turn.history == ("agent:ledger [summary]: Nothing new.",)
    assert (turn.number, turn.epoch, turn.cause) == (2, 1, Cause.HUMAN)
