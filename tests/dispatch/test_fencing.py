"""After waiting for the lock, a writer sees what has changed: the run, the epoch and the time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from agents import claims, locking, settlement
from agents.db.expressions import database_now
from agents.events.log import NewEvent
from agents.lifecycle import Outcome
from agents.models import Run, Session
from agents.running.runtime import Ended, Turn
from tests.dispatch.world import DONE, seqs, session_of, start
from tests.races.racing import Beside


@pytest.fixture
def turn(owner: User) -> Turn:
    run = start(session_of(owner, "greeter", DONE), owner)
    claimed = claims.claim_run(run_id=run.pk, worker="here")
    assert claimed is not None
    return claimed


WRITERS: dict[str, Callable[[Turn], object]] = {
    "append": lambda turn: claims.append_events(
        turn.fence, [NewEvent("output", "agent:x", "late")]
    ),
    "renew": lambda turn: claims.renew_claim(turn.fence),
    "give back": lambda turn: claims.return_run(turn.fence),
    "settle": lambda turn: settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE)),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_writer_that_waited_while_the_run_was_taken_over_is_refused(
    turn: Turn, write: Callable[[Turn], object]
) -> None:
    """Only the session's lock blocks it, so the other worker can take over the run meanwhile."""
    with transaction.atomic():
        locking.lock_session(turn.session_id)
        Run.objects.filter(pk=turn.run_id).update(status="running")
        late = Beside(lambda: write(turn))
        late.wait_until_blocked()
        Run.objects.filter(pk=turn.run_id).update(epoch=turn.epoch + 1, worker="there")
    assert late.result() is False
    run = Run.objects.get(pk=turn.run_id)
    assert (run.status, run.epoch, run.worker) == ("running", turn.epoch + 1, "there")
    assert seqs(run.session) == list(range(1, len(seqs(run.session)) + 1))


def test_the_moment_of_the_lock_is_after_the_wait_for_it(turn: Turn) -> None:
    @transaction.atomic
    def lock() -> locking.LockedRun | None:
        return locking.lock_run(turn.run_id)

    with transaction.atomic():
        locking.lock_session(turn.session_id)
        late = Beside(lock)
        late.wait_until_blocked()
        Session.objects.filter(pk=turn.session_id).update(title="moved")
        moment = database_now()
    run = late.result()
    assert run is not None
    assert run.session.title == "moved"
    assert run.session.locked_at > moment


@pytest.mark.case("aoa-59")
def test_a_lapsed_claim_that_is_renewed_in_time_is_not_taken(turn: Turn) -> None:
    """While the other worker waits for the lock, the holder returns and renews its claim."""
    Run.objects.filter(pk=turn.run_id).update(lease_until=Now() - claims.lease_duration())
    with transaction.atomic():
        locking.lock_session(turn.session_id)
        taker = Beside(lambda: claims.claim_run(run_id=turn.run_id, worker="there"))
        taker.wait_until_blocked()
        assert claims.renew_claim(turn.fence)
    assert taker.result() is None
    assert Run.objects.get(pk=turn.run_id).worker == "here"


def test_a_claim_whose_answer_was_lost_is_found_again(turn: Turn) -> None:
    """Only by the worker that made the claim."""
    again = claims.claim_run(run_id=turn.run_id, worker="here", again=True)
    assert again is not None
    assert (again.epoch, again.given) == (turn.epoch, turn.given)
    assert claims.claim_run(run_id=turn.run_id, worker="here") is None
    assert claims.claim_run(run_id=turn.run_id, worker="there", again=True) is None
