"""How a turn ends: the run's status, its inbox items, and the session's next wake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import claims, controls, messages, settlement
from agents.db.expressions import database_now
from agents.lifecycle import Cause, InboxKind, InboxState, Outcome, RunStatus, Status
from agents.models import Agent, Lane, Run, Session
from agents.registration import open_session
from agents.running.runtime import Ended, Fence, Mail
from agents.settlement import FAILING_AFTER
from tests.factories import AgentFactory, begin, claim, draft, finish, home_of, turn_of

pytestmark = pytest.mark.django_db

COMPLETED = (Outcome.WORK_DONE, Outcome.NO_WORK, Outcome.BLOCKED)
#: What may arrive while a turn is running.
MEANWHILE = ("nothing", "message", "mail")


def happen(what: str, session: Session, by: User) -> None:
    if what == "message":
        messages.post_message(session_id=session.pk, by=by, text="Meanwhile.")
    elif what == "mail":
        sender: Agent = AgentFactory(owners=[by])
        turn_of(home_of(sender), mails=(Mail(session.agent.slug, "Meanwhile."),))


def expected_status(outcome: Outcome, *, asks: bool, meanwhile: str) -> RunStatus:
    """The whole matrix: failed, waiting for a person, continued or completed."""
    human = meanwhile == "message"
    if outcome not in COMPLETED:
        return RunStatus.FAILED
    if asks:
        return RunStatus.CONTINUED if human else RunStatus.WAITING_HUMAN
    return RunStatus.CONTINUED if human and outcome == Outcome.BLOCKED else RunStatus.COMPLETED


@pytest.mark.case("C44", "aoa-30", "aoa-36")
@pytest.mark.parametrize(
    ("outcome", "asks", "meanwhile"), list(product(Outcome, (False, True), MEANWHILE))
)
def test_every_way_a_turn_can_end(
    session: Session, owner: User, outcome: Outcome, asks: bool, meanwhile: str
) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Given.")
    turn = claim(session.runs.get())
    happen(meanwhile, session, owner)

    run = finish(turn, outcome, asks=(draft(),) if asks else ())

    session.refresh_from_db()
    assert run.status == expected_status(outcome, asks=asks, meanwhile=meanwhile)
    given, *later = session.inbox.order_by("pk")
    assert given.state == (InboxState.ACKED if outcome in COMPLETED else InboxState.QUEUED)
    assert [item.state for item in later] == [InboxState.QUEUED] * (meanwhile != "nothing")
    goes_on = meanwhile == "message" or (meanwhile == "mail" and run.status == RunStatus.COMPLETED)
    following = session.runs.filter(number=2).first()
    assert (following is not None) == goes_on
    if following:
        assert following.status == RunStatus.QUEUED
        assert following.cause == (Cause.HUMAN if meanwhile == "message" else Cause.MAIL)
        assert session.status == Status.QUEUED
    elif run.status == RunStatus.WAITING_HUMAN:
        assert (session.status, session.wake_at) == (Status.WAITING_HUMAN, None)
    elif run.status == RunStatus.FAILED:
        assert session.wake_at is not None
    else:
        assert session.status == (Status.BLOCKED if outcome == Outcome.BLOCKED else Status.MANUAL)


@pytest.mark.case("X1")
def test_blocked_without_a_question_is_no_waiting_run(session: Session) -> None:
    run = turn_of(session, Outcome.BLOCKED)
    session.refresh_from_db()
    assert (run.status, session.status) == (RunStatus.COMPLETED, Status.BLOCKED)


def test_a_lost_claim_changes_nothing(session: Session) -> None:
    turn = begin(session)
    other = Fence(turn.run_id, turn.session_id, turn.epoch + 1)
    before = session.events.count()
    ended = Ended(outcome=Outcome.WORK_DONE, report="Done.", asks=(draft(),))
    assert not settlement.settle_run(other, ended)
    assert Run.objects.get().status == RunStatus.RUNNING
    assert session.events.count() == before


@pytest.mark.case("aoa-4")
def test_a_turn_is_settled_once(session: Session) -> None:
    turn = begin(session)
    finish(turn)
    session.refresh_from_db()
    moved = session.moved_at
    assert not settlement.settle_run(turn.fence, Ended(outcome=Outcome.BLOCKED))
    session.refresh_from_db()
    assert (session.moved_at, session.last_outcome) == (moved, Outcome.WORK_DONE)


def continuous(owner: User, **wake: Any) -> Session:
    agent: Agent = AgentFactory(owners=[owner], wake={"kind": "continuous", **wake})
    return home_of(agent)


def delay_of(session: Session) -> float:
    """Return the seconds from the settlement to the next wake."""
    session.refresh_from_db()
    assert session.wake_at is not None
    return (session.wake_at - session.moved_at).total_seconds()


@pytest.mark.case("aoa-1", "aoa-2")
def test_an_idle_agent_looks_again_later_and_later(owner: User) -> None:
    session = continuous(owner)
    for streak, delay in enumerate((60, 120, 240, 480, 960), start=1):
        turn_of(session, Outcome.NO_WORK)
        assert delay <= delay_of(session) <= 1.1 * delay
        assert (session.idle_streak, session.wake_cause) == (streak, Cause.BACKOFF)
        assert session.status == Status.BACKING_OFF
    turn_of(session, Outcome.WORK_DONE)
    assert (delay_of(session), session.idle_streak) == (60, 0)
    assert session.status == Status.SCHEDULED


@pytest.mark.case("aoa-11")
def test_a_failing_agent_tries_again_later_and_later(session: Session) -> None:
    for streak, delay in enumerate((30, 60, 120, 240, 480, 900, 900), start=1):
        turn_of(session, Outcome.RETRYABLE_ERROR, error="It broke.")
        assert delay_of(session) == delay
        expected = Status.BACKING_OFF if streak < FAILING_AFTER else Status.FAILING
        assert (session.error_streak, session.status) == (streak, expected)
    turn_of(session, Outcome.NO_WORK)
    session.refresh_from_db()
    assert session.error_streak == 0


@pytest.mark.case("aoa-10")
@pytest.mark.parametrize(
    "outcome", [Outcome.RATE_LIMITED, Outcome.BLOCKED, Outcome.RETRYABLE_ERROR]
)
def test_only_idleness_counts_as_idleness(owner: User, outcome: Outcome) -> None:
    session = continuous(owner)
    turn_of(session, Outcome.NO_WORK)
    turn_of(session, outcome)
    session.refresh_from_db()
    assert session.idle_streak == 1


@pytest.mark.parametrize(
    ("wake", "cause", "status"),
    [
        ({"kind": "manual"}, Cause.MANUAL, Status.MANUAL),
        ({"kind": "on_message"}, Cause.EVENT, Status.WAITING_EVENT),
        ({"kind": "schedule", "every_seconds": 3600}, Cause.SCHEDULE, Status.SCHEDULED),
    ],
)
@pytest.mark.parametrize("outcome", [Outcome.WORK_DONE, Outcome.NO_WORK])
def test_the_policy_says_what_comes_next(
    owner: User, wake: dict[str, Any], cause: Cause, status: Status, outcome: Outcome
) -> None:
    session = home_of(AgentFactory(owners=[owner], wake=wake))
    turn_of(session, outcome)
    session.refresh_from_db()
    assert (session.wake_cause, session.status) == (cause, status)
    if cause == Cause.SCHEDULE:
        assert delay_of(session) == 3600


def test_only_the_home_session_works_by_itself(owner: User) -> None:
    session = open_session(AgentFactory(owners=[owner], wake={"kind": "continuous"}))
    turn_of(session, Outcome.NO_WORK)
    session.refresh_from_db()
    assert (session.wake_at, session.status) == (None, Status.MANUAL)


@pytest.mark.case("aoa-6", "aoa-38")
def test_a_limit_holds_every_agent_of_its_lane(owner: User) -> None:
    limited, other, elsewhere = (
        home_of(AgentFactory(owners=[owner], wake={"kind": "continuous"}, lane=lane))
        for lane in ("vendor", "vendor", "")
    )
    passes_at = database_now() + timedelta(hours=96)
    turn_of(limited, Outcome.RATE_LIMITED, retry_at=passes_at, error="Resets in 96h.")
    limited.refresh_from_db()
    assert (limited.wake_at, limited.wake_cause) == (passes_at, Cause.RESOURCE)
    assert limited.status == Status.WAITING_RESOURCE
    assert Lane.objects.get().blocked_until == passes_at

    for session in (other, elsewhere):
        finish(claim(session.runs.get()))
        Session.objects.filter(pk=session.pk).update(wake_at=database_now())
    from agents.jobs.tick import run_tick

    run_tick()
    other.refresh_from_db()
    assert (other.runs.count(), other.wake_at, other.status) == (
        1,
        passes_at,
        Status.WAITING_RESOURCE,
    )
    assert elsewhere.runs.count() == 2


def test_a_person_is_not_held_by_a_limit(owner: User) -> None:
    session = home_of(AgentFactory(owners=[owner], lane="vendor"))
    turn_of(session, Outcome.RATE_LIMITED)
    assert controls.start_session(session_id=session.pk, by=owner)


def test_the_later_end_of_a_limit_counts(owner: User) -> None:
    first, second = (home_of(AgentFactory(owners=[owner], lane="vendor")) for _ in range(2))
    late = database_now() + timedelta(hours=5)
    turn_of(first, Outcome.RATE_LIMITED, retry_at=late)
    turn_of(second, Outcome.RATE_LIMITED)
    assert Lane.objects.get().blocked_until == late


@pytest.mark.parametrize(
    ("retry_at", "seconds"),
    [
        (None, 3600),
        (datetime(2001, 1, 1, tzinfo=UTC), 30),
        (datetime(2001, 1, 1), 30),  # noqa: DTZ001 -- what a careless runtime may say
    ],
)
def test_a_limit_never_makes_a_session_spin(
    session: Session, retry_at: datetime | None, seconds: float
) -> None:
    turn_of(session, Outcome.RATE_LIMITED, retry_at=retry_at)
    assert delay_of(session) == seconds


@pytest.mark.case("aoa-34", "aoa-41")
def test_a_failed_turn_owes_again_what_it_was_given(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    finish(claim(session.runs.get()), Outcome.RETRYABLE_ERROR)
    item = session.inbox.get()
    assert (item.state, item.leased_by, item.attempts) == (InboxState.QUEUED, None, 1)
    assert delay_of(session) == 30


@pytest.mark.case("aoa-35")
def test_a_completed_turn_is_done_with_what_it_was_given(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    finish(claim(session.runs.get()))
    assert session.inbox.get().state == InboxState.ACKED
    assert session.runs.count() == 1


def test_a_message_that_a_queued_run_will_carry_starts_no_second_one(
    session: Session, owner: User
) -> None:
    run = controls.start_session(session_id=session.pk, by=owner)
    assert run is not None
    messages.post_message(session_id=session.pk, by=owner, text="And this.")
    turn = claim(run)
    assert [given.body for given in turn.given] == ["And this."]
    finish(turn)
    assert session.runs.count() == 1


def test_a_run_that_was_taken_over_carries_what_came_in_between(
    session: Session, owner: User
) -> None:
    turn = begin(session)
    messages.post_message(session_id=session.pk, by=owner, text="Meanwhile.")
    Run.objects.update(lease_until=database_now() - timedelta(seconds=1))
    again = claim(Run.objects.get())
    assert [given.body for given in again.given] == ["Meanwhile."]
    assert not settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE))
    finish(again)
    assert session.runs.count() == 1


def test_a_run_given_back_keeps_what_it_was_given(session: Session, owner: User) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="Hello.")
    turn = claim(session.runs.get())
    claims.return_run(turn.fence)
    again = claim(session.runs.get())
    assert (again.epoch, [given.body for given in again.given]) == (2, ["Hello."])


def test_the_report_and_the_error_are_in_the_thread(session: Session) -> None:
    turn_of(session, Outcome.RETRYABLE_ERROR, report="  Read **3** files. ", error="Then it broke.")
    summary, error = session.events.filter(kind__in=["summary", "error"]).order_by("seq")
    assert (summary.actor, summary.text) == ("agent:ledger", "Read **3** files.")
    assert "<strong>3</strong>" in summary.html
    assert (error.actor, error.text) == ("system", "Then it broke.")
    assert session.runs.get().error == "Then it broke."


STRANGE: list[dict[str, Any]] = [
    {"report": "\0\ud800"},
    {"error": "\0\ud800"},
    {"error": "x" * 2_000_000},
    {"report": "x" * 2_000_000},
    {"session_data": {"\0": float("nan"), "deep": [[["\ud800"]]]}},
    {"external_id": "\0" * 500},
    {"mails": (Mail("\0", "\ud800"), Mail("x" * 5000, "Hi."), Mail("", ""))},
]


@pytest.mark.parametrize("ended", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize(
    "outcome", [Outcome.WORK_DONE, Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED]
)
def test_whatever_a_turn_says_it_ends(
    session: Session, outcome: Outcome, ended: dict[str, Any]
) -> None:
    """A turn that cannot be stored would be taken over and repeated forever."""
    Agent.objects.update(lane="vendor")
    assert turn_of(session, outcome, **ended).ended_at is not None


def test_what_the_protocol_keeps_is_found_in_the_next_turn(session: Session) -> None:
    turn_of(session, session_data={"thread": 5}, external_id="thread-5")
    turn = begin(session)
    assert (turn.session_data, turn.external_id) == ({"thread": 5}, "thread-5")
    finish(turn)
    assert begin(session).external_id == "thread-5"


def test_a_name_that_another_session_has_is_not_taken(agent: Agent, session: Session) -> None:
    open_session(agent, external_id="thread-5")
    turn_of(session, external_id="thread-5")
    session.refresh_from_db()
    assert session.external_id == ""
    (event,) = session.events.filter(kind="ignored")
    assert event.data == {"why": "another session has this name already"}


def test_how_the_turn_ended_is_in_the_thread(session: Session) -> None:
    turn_of(session, Outcome.BLOCKED, asks=(draft(), draft()))
    event = session.events.get(kind="ended")
    assert event.data == {"outcome": "BLOCKED", "status": "waiting_human", "open_asks": 2}


def test_the_inbox_of_another_session_is_left_alone(
    agent: Agent, session: Session, owner: User
) -> None:
    other = open_session(agent)
    controls.pause_agent(agent_id=agent.pk, by=owner)
    messages.post_message(session_id=other.pk, by=owner, text="For the other.")
    controls.resume_agent(agent_id=agent.pk, by=owner)
    turn_of(session)
    assert other.inbox.get(kind=InboxKind.MESSAGE).state == InboxState.QUEUED
