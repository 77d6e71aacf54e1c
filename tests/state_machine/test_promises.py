"""Each promise can fail: for each there is a state of the database that breaks it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents import messages
from agents.lifecycle import Outcome
from agents.models import Session
from tests.factories import REFUND, AskFactory, begin, claim, finish, verdict_on
from tests.state_machine.promises import PROMISES, check_all
from tests.triggers import triggers_off

pytestmark = pytest.mark.django_db

BREAK = {
    "a verdict is owed, or was carried by a run that completed": [
        "DELETE FROM agents_inboxitem",
        "UPDATE agents_inboxitem SET state = 'acked', leased_by_id = (SELECT min(id) FROM agents_run)",
    ],
    "nothing is held by a run that is over": [
        "UPDATE agents_inboxitem SET state = 'leased', leased_by_id = (SELECT min(id) FROM agents_run)"
    ],
    "no session sleeps over something owed": [
        "UPDATE agents_session SET wake_at = NULL, wake_cause = 'manual'"
    ],
    "only a failure or a limit delays what a person said": [
        "UPDATE agents_inboxitem SET attempts = 0"
    ],
    "a session has one live run": [
        "DROP INDEX one_live_run_per_session; UPDATE agents_run SET status = 'queued', ended_at = NULL"
    ],
    "a queued run has a job, and may work": ["DELETE FROM procrastinate_jobs"],
    "a session is held exactly while an answer can be taken back": [
        "UPDATE agents_session SET held_until = now() + interval '5 seconds'"
    ],
    "the open asks of a session and of a run are counted": [
        "UPDATE agents_session SET open_asks = 7",
        "UPDATE agents_run SET open_asks = 7",
    ],
    "a run that waits for a person has an open ask": [
        (
            "UPDATE agents_run SET status = 'waiting_human', open_asks = 1, ended_at = NULL"
            " WHERE number = 1 AND status = 'failed'"
        )
    ],
    "an ask is answered exactly when it has a verdict": [
        "UPDATE asks_ask SET status = 'withdrawn' WHERE status = 'answered'"
    ],
    "events, runs and gates are numbered without gaps": [
        "UPDATE agents_session SET last_seq = last_seq + 1",
        "DELETE FROM agents_event WHERE seq = 2",
        "UPDATE agents_session SET run_count = run_count + 1",
        "UPDATE agents_session SET gate_count = gate_count + 1",
    ],
}


@pytest.fixture
def world(session: Session, owner: User) -> None:
    """Create a failed first run, an answered approval that failed once, and a back-off in between."""
    turn = begin(session)
    finish(turn, Outcome.RETRYABLE_ERROR)
    verdict_on(AskFactory(session=session, action=REFUND), owner)
    finish(claim(session.runs.latest("number")), Outcome.RETRYABLE_ERROR)
    other = AskFactory().session
    messages.post_message(session_id=other.pk, by=other.agent.owners.get(), text="Hello.")


@pytest.mark.usefixtures("world")
def test_a_sound_world_breaks_none() -> None:
    check_all()


@pytest.mark.parametrize(("promise", "harm"), [(p, harm) for p in BREAK for harm in BREAK[p]])
@pytest.mark.usefixtures("world")
def test_a_broken_promise_is_seen(promise: str, harm: str) -> None:
    with triggers_off(), connection.cursor() as cursor:
        cursor.execute(harm)
    with pytest.raises(AssertionError) as seen:
        check_all()
    assert promise in str(seen.value)


def test_each_promise_is_broken_once() -> None:
    assert set(BREAK) == set(PROMISES)
