"""What one verb does to a session is written in one statement, and all of it."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from agents import transitions
from agents.db import statements, unit_of_work
from agents.events.log import NewEvent, record_event, record_events
from agents.lifecycle import Cause, InboxKind, RunStatus
from agents.locking import lock_session
from agents.models import InboxItem, Run, Session
from tests.factories import RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(session: Session) -> Run:
    made: Run = RunFactory(session=session)
    return made


def told(session: Session) -> list[tuple[int, str]]:
    return list(session.events.order_by("seq").values_list("seq", "text"))


def a_message(session: Session) -> InboxItem:
    return InboxItem(session=session, kind=InboxKind.MESSAGE, author="human:olga", body="Hello.")


def test_all_goes_along_with_the_standing(
    session: Session, run: Run, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    locked = lock_session(session.pk)
    before = told(session)
    with django_assert_num_queries(1), unit_of_work.together(locked):
        first = record_event(locked, "output", actor="a", text="One.", run=run)
        record_event(locked, "output", actor="a", text="Two.")
        unit_of_work.add(locked, a_message(locked))
        claim = {"epoch": 1, "worker": "w", "lease_until": locked.locked_at}
        transitions.move_run(locked, run, RunStatus.RUNNING, at_the_end=True, **claim)
        transitions.store_status(locked, run)
    assert first is not None
    assert first.pk == session.events.get(text="One.").pk
    number = len(before)
    assert told(session)[number:] == [(number + 1, "One."), (number + 2, "Two.")]
    assert session.events.get(text="Two.").run_id is None
    session.refresh_from_db()
    assert (session.last_seq, session.inbox.get().body) == (number + 2, "Hello.")
    assert Run.objects.get(pk=run.pk).status == RunStatus.RUNNING


def test_what_no_standing_took_along_is_written_at_the_end(session: Session, run: Run) -> None:
    locked = lock_session(session.pk)
    with unit_of_work.together(locked):
        transitions.store_status(locked, run)
        record_event(locked, "output", actor="a", text="Late.", run=run)
        unit_of_work.add(locked, a_message(locked))
    session.refresh_from_db()
    assert told(session)[-1] == (session.last_seq, "Late.")
    assert session.inbox.exists()
    assert locked.unwritten is None


def test_a_key_lands_once_among_what_is_not_written_yet(session: Session, run: Run) -> None:
    locked = lock_session(session.pk)
    with unit_of_work.together(locked):
        for of in (run, run, None):
            record_event(locked, "report", actor="a", text="Once.", run=of, once_key="k")
        record_events(locked, [NewEvent("report", "a", once_key="k")] * 2, run=run)
    assert [text for _, text in told(session)].count("Once.") == 2
    session.refresh_from_db()
    assert session.last_seq == len(told(session))


def test_a_run_that_ends_makes_room_for_the_next(session: Session, run: Run) -> None:
    locked = lock_session(session.pk)
    transitions.move_run(locked, run, RunStatus.RUNNING, worker="w", lease_until=locked.locked_at)
    with unit_of_work.together(locked):
        transitions.move_run(locked, run, RunStatus.COMPLETED, at_the_end=True)
        record_event(locked, "ended", actor="system", run=run)
        unit_of_work.write_moves(locked)
        new = statements.insert(Run(session=locked, number=run.number + 1, cause=Cause.HUMAN))
        transitions.store_status(locked, new)
    assert list(session.runs.order_by("number").values_list("status", flat=True)) == [
        RunStatus.COMPLETED,
        RunStatus.QUEUED,
    ]


def test_a_run_is_written_once_as_it_is_in_the_end(
    session: Session, run: Run, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    locked = lock_session(session.pk)
    with django_assert_num_queries(1), unit_of_work.together(locked):
        for count in (1, 2):
            run.open_asks = count
            unit_of_work.move(locked, run, ["open_asks"])
        claim = {"worker": "w", "lease_until": locked.locked_at}
        transitions.move_run(locked, run, RunStatus.RUNNING, at_the_end=True, **claim)
        transitions.store_status(locked, run)
    found = Run.objects.get(pk=run.pk)
    assert (found.open_asks, found.status, found.worker) == (2, RunStatus.RUNNING, "w")


def test_row_by_row_where_nothing_is_put_together(session: Session, run: Run) -> None:
    locked = lock_session(session.pk)
    record_event(locked, "output", actor="a", text="Now.", run=run)
    unit_of_work.add(locked, a_message(locked))
    unit_of_work.move(locked, run, ["worker"])
    session.refresh_from_db()
    assert told(session)[-1] == (session.last_seq, "Now.")
    assert session.inbox.exists()
