"""Events are numbered without gaps, stored once per key, and rendered once when written."""

from __future__ import annotations

import pytest

from agents.events.log import NewEvent, events_after, record_event, record_events
from agents.locking import lock_session
from agents.models import Agent, Run, Session
from agents.registration import open_session
from tests.factories import RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(session: Session) -> Run:
    made: Run = RunFactory(session=session)
    return made


def seqs(session: Session) -> list[int]:
    return list(session.events.order_by("seq").values_list("seq", flat=True))


@pytest.mark.case("aoa-27")
def test_numbers_have_no_gaps(session: Session, run: Run) -> None:
    locked = lock_session(session.pk)
    before = locked.last_seq
    for n in range(25):
        record_event(locked, "output", actor="agent:ledger", text=str(n), run=run)
    record_events(locked, [NewEvent("output", "agent:ledger", str(n)) for n in range(25)], run=run)
    session.refresh_from_db()
    assert session.last_seq == before + 50
    assert seqs(session) == list(range(1, before + 51))


def test_each_session_counts_for_itself(agent: Agent, session: Session) -> None:
    other = open_session(agent)
    for one in (session, other):
        record_event(lock_session(one.pk), "output", actor="agent:ledger", text="x")
    assert seqs(session) == seqs(other) == [1, 2]


def test_a_key_lands_once_per_run(session: Session, run: Run) -> None:
    locked = lock_session(session.pk)
    first = record_event(locked, "report", actor="a", text="Once.", run=run, once_key="k")
    again = record_event(locked, "report", actor="a", text="Twice.", run=run, once_key="k")
    batch = [
        NewEvent("report", "a", "New.", once_key="n"),
        NewEvent("report", "a", "Old.", once_key="k"),
    ]
    landed = record_events(locked, [*batch, *batch], run=run)
    assert first is not None
    assert again is None
    assert [event.text for event in landed] == ["New."]
    assert seqs(session) == list(range(1, locked.last_seq + 1))


def test_a_key_of_one_run_or_session_is_free_in_another(
    agent: Agent, session: Session, run: Run
) -> None:
    locked, other = lock_session(session.pk), lock_session(open_session(agent).pk)
    for where, of in ((locked, run), (locked, None), (other, None)):
        assert record_event(where, "report", actor="a", text="x", run=of, once_key="k")
    assert record_event(locked, "report", actor="a", text="x", once_key="k") is None


@pytest.mark.case("C89")
def test_prose_is_rendered_once_and_the_rest_is_left_as_it_is(session: Session) -> None:
    locked = lock_session(session.pk)
    text = "**bold** <script>alert(1)</script>"
    prose = record_event(locked, "report", actor="agent:ledger", text=text)
    plain = record_event(locked, "output", actor="agent:ledger", text=text)
    assert prose is not None
    assert plain is not None
    assert prose.text == plain.text == text
    assert "<strong>bold</strong>" in prose.html
    assert "<script" not in prose.html
    assert plain.html == ""


def test_what_postgresql_cannot_hold_is_shown_as_such(session: Session) -> None:
    locked = lock_session(session.pk)
    event = record_event(
        locked, "output", actor="a", text="a\0b\ud800", data={"\0": ["\udfff", float("nan")]}
    )
    assert event is not None
    event.refresh_from_db()
    assert (event.text, event.data) == ("a\ufffdb\ufffd", {"\ufffd": ["\ufffd", None]})


def test_reading_goes_on_from_a_cursor(session: Session) -> None:
    locked = lock_session(session.pk)
    record_events(locked, [NewEvent("output", "a", str(n)) for n in range(5)], run=None)
    assert [event.seq for event in events_after(session.pk, 0)] == [1, 2, 3, 4, 5, 6]
    assert [event.seq for event in events_after(session.pk, 4)] == [5, 6]
    assert [event.seq for event in events_after(session.pk, 0, limit=2)] == [1, 2]
    assert events_after(session.pk, 6) == []
