"""The database itself enforces which sessions and runs are valid."""

from __future__ import annotations

from itertools import product

import pytest

from agents.lifecycle import LIVE_RUNS, RUN_MOVES, WAKING_CAUSES, Cause, RunStatus
from agents.models import Agent, Run, Session
from agents.registration import open_session
from tests.factories import RunFactory
from tests.invariants.refusing import copy_row, refused, run_sql
from tests.triggers import triggers_off

pytestmark = pytest.mark.django_db

#: The fields that a status requires, so that only the value under test can be rejected.
FITTING = {
    RunStatus.QUEUED: "lease_until = NULL, ended_at = NULL",
    RunStatus.RUNNING: "lease_until = now(), ended_at = NULL",
    RunStatus.WAITING_HUMAN: "lease_until = NULL, ended_at = NULL, open_asks = 1",
    **dict.fromkeys(set(RunStatus) - set(LIVE_RUNS), "lease_until = NULL, ended_at = now()"),
}


def put_into(run: Run, status: RunStatus) -> None:
    """Set a status while the trigger that guards its transitions is off."""
    with triggers_off("agents_run"):
        run_sql(
            f"UPDATE agents_run SET status = %s, {FITTING[status]} WHERE id = %s", [status, run.pk]
        )


@pytest.mark.case("aoa-3")
@pytest.mark.parametrize(("first", "second"), list(product(LIVE_RUNS, repeat=2)))
def test_a_session_has_one_live_run(session: Session, first: RunStatus, second: RunStatus) -> None:
    run = RunFactory(session=session)
    put_into(run, first)
    another = RunFactory(session=open_session(session.agent))
    put_into(another, second)
    with refused("one_live_run_per_session"):
        copy_row("agents_run", another.pk, session_id=session.pk, number=9)


@pytest.mark.parametrize("over", sorted(set(RunStatus) - set(LIVE_RUNS)))
def test_runs_that_are_over_may_be_many(session: Session, over: RunStatus) -> None:
    run = RunFactory(session=session)
    put_into(run, over)
    copy_row("agents_run", run.pk, number=9)
    RunFactory(session=session)
    assert session.runs.count() == 3


@pytest.mark.parametrize(("here", "there"), list(product(RunStatus, repeat=2)))
def test_a_run_moves_along_the_table_and_no_other_way(
    session: Session, here: RunStatus, there: RunStatus
) -> None:
    run = RunFactory(session=session)
    put_into(run, here)
    move = f"UPDATE agents_run SET status = %s, {FITTING[there]} WHERE id = %s"
    if here == there or there in RUN_MOVES[here]:
        run_sql(move, [there, run.pk])
    else:
        with refused("Invalid transition"):
            run_sql(move, [there, run.pk])


@pytest.mark.parametrize("status", sorted(set(RunStatus) - {RunStatus.RUNNING}))
def test_only_a_running_run_holds_a_lease(session: Session, status: RunStatus) -> None:
    run = RunFactory(session=session)
    put_into(run, status)
    with refused("running_holds_a_lease"):
        run_sql("UPDATE agents_run SET lease_until = now() WHERE id = %s", [run.pk])


def test_a_running_run_without_a_lease_is_refused(session: Session) -> None:
    run = RunFactory(session=session, status=RunStatus.RUNNING)
    with refused("running_holds_a_lease"):
        run_sql("UPDATE agents_run SET lease_until = NULL WHERE id = %s", [run.pk])


@pytest.mark.parametrize("status", list(RunStatus))
def test_a_run_has_an_end_exactly_when_it_is_over(session: Session, status: RunStatus) -> None:
    run = RunFactory(session=session)
    put_into(run, status)
    end = "now()" if status in LIVE_RUNS else "NULL"
    with refused("over_has_an_end"):
        run_sql(f"UPDATE agents_run SET ended_at = {end} WHERE id = %s", [run.pk])


@pytest.mark.case("X2")
def test_a_run_that_waits_for_a_person_has_an_open_ask(session: Session) -> None:
    run = RunFactory(session=session, status=RunStatus.WAITING_HUMAN)
    with refused("waiting_has_an_open_ask"):
        run_sql("UPDATE agents_run SET open_asks = 0 WHERE id = %s", [run.pk])


@pytest.mark.parametrize("counter", ["open_asks", "epoch", "number"])
def test_counters_of_a_run_are_never_negative(session: Session, counter: str) -> None:
    run = RunFactory(session=session)
    with refused(f"agents_run_{counter}_check"):
        run_sql(f"UPDATE agents_run SET {counter} = -1 WHERE id = %s", [run.pk])


@pytest.mark.parametrize("counter", ["open_asks", "last_seq", "run_count", "gate_count"])
def test_counters_of_a_session_are_never_negative(session: Session, counter: str) -> None:
    with refused(f"agents_session_{counter}_check"):
        run_sql(f"UPDATE agents_session SET {counter} = -1 WHERE id = %s", [session.pk])


def test_runs_are_numbered_once(session: Session) -> None:
    run = RunFactory(session=session, status=RunStatus.COMPLETED)
    with refused("runs_are_numbered"):
        copy_row("agents_run", run.pk)


@pytest.mark.parametrize("cause", sorted(Cause))
def test_waking_has_a_cause_and_a_cause_that_wakes_has_a_time(
    session: Session, cause: Cause
) -> None:
    wrong = "NULL" if cause in WAKING_CAUSES else "now()"
    with refused("waking_has_a_cause"):
        run_sql(
            f"UPDATE agents_session SET wake_cause = %s, wake_at = {wrong} WHERE id = %s",
            [cause, session.pk],
        )


def test_an_agent_has_one_home_session(session: Session) -> None:
    with refused("one_home_session_per_agent"):
        copy_row("agents_session", session.pk)


def test_an_agents_session_is_found_by_one_external_name(agent: Agent) -> None:
    named = open_session(agent, external_id="thread-1")
    with refused("one_session_per_external_id"):
        copy_row("agents_session", named.pk)
    copy_row("agents_session", named.pk, external_id="")
    copy_row("agents_session", named.pk, external_id="")


def test_an_agents_slug_is_its_own(agent: Agent) -> None:
    with refused("agents_agent_slug"):
        copy_row("agents_agent", agent.pk)


@pytest.mark.parametrize("table", ["agents_agent", "agents_session", "agents_run"])
def test_what_something_refers_to_is_not_deleted(session: Session, table: str) -> None:
    RunFactory(session=session, status=RunStatus.WAITING_HUMAN)
    with refused("violates foreign key"):
        run_sql(f"DELETE FROM {table}")
