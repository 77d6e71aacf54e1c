"""The status is a total, pure function of facts. It asks for a person only when one is needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lifecycle import (
    LIVE_RUNS,
    NOTHING_IS_WRONG,
    WAKING_CAUSES,
    WORKING,
    YOU_ARE_THE_BLOCKER,
    AgentState,
    Cause,
    RunStatus,
    SessionState,
    Status,
)
from agents.status import DerivedStatus, StatusFacts, derive_status

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


@st.composite
def facts(draw: st.DrawFn) -> StatusFacts:
    """Generate facts that the database allows: a wake has a cause, a waiting run has an open ask."""
    live_run = draw(st.sampled_from(["", *LIVE_RUNS]))
    waiting = live_run == RunStatus.WAITING_HUMAN
    cause = draw(st.sampled_from(sorted(Cause)))
    moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
    return StatusFacts(
        agent_state=draw(st.sampled_from(sorted(AgentState))),
        session_state=draw(st.sampled_from(sorted(SessionState))),
        state_reason=draw(st.sampled_from(["", "Stopped by olga."])),
        live_run=live_run,
        open_asks=draw(st.integers(1 if waiting else 0, 3)),
        wake_cause=cause,
        wake_at=draw(moments) if cause in WAKING_CAUSES else None,
        idle_streak=draw(st.integers(0, 3)),
        error_streak=draw(st.integers(0, 3)),
        failing=draw(st.booleans()),
        now=draw(moments),
    )


@given(facts())
def test_every_session_has_one_status_and_a_reason_in_words(known: StatusFacts) -> None:
    found = derive_status(known)
    assert found == derive_status(known)
    assert found.status in Status
    assert found.reason.endswith(".")
    assert len(found.reason) <= 300


@pytest.mark.case("C115")
@given(facts())
def test_a_person_is_needed_exactly_when_something_waits_for_one(known: StatusFacts) -> None:
    active = known.agent_state == AgentState.ACTIVE and known.session_state == SessionState.ACTIVE
    working = known.live_run in (RunStatus.QUEUED, RunStatus.RUNNING)
    waits = active and not working and (known.open_asks > 0 or known.wake_cause == Cause.BLOCKED)
    needed = waits or fails(known)
    assert (derive_status(known).status in YOU_ARE_THE_BLOCKER) == needed


def fails(known: StatusFacts) -> bool:
    """Whether an active agent's session fails: it was given up, or rests until it tries again."""
    if not known.failing or known.agent_state != AgentState.ACTIVE:
        return False
    rests = known.wake_at is not None and known.wake_at > known.now and not known.live_run
    tries_later = rests and known.wake_cause == Cause.BACKOFF and not known.open_asks
    return known.session_state == SessionState.PAUSED or (
        known.session_state == SessionState.ACTIVE and tries_later
    )


@given(facts())
def test_a_run_shows(known: StatusFacts) -> None:
    active = known.agent_state == AgentState.ACTIVE and known.session_state == SessionState.ACTIVE
    if active and known.live_run in (RunStatus.QUEUED, RunStatus.RUNNING):
        assert derive_status(known).status == known.live_run.upper()


def test_the_groups_hold_every_status_once() -> None:
    assert {Status.WAITING_HUMAN, Status.BLOCKED, Status.FAILING} == YOU_ARE_THE_BLOCKER
    assert {Status.QUEUED, Status.RUNNING, Status.DUE} == WORKING
    groups = [YOU_ARE_THE_BLOCKER, WORKING, NOTHING_IS_WRONG]
    assert sorted(status for group in groups for status in group) == sorted(Status)


def of(**known: object) -> DerivedStatus:
    base: dict[str, object] = {
        "agent_state": AgentState.ACTIVE,
        "session_state": SessionState.ACTIVE,
        "wake_cause": Cause.MANUAL,
        "now": NOW,
    }
    return derive_status(StatusFacts(**{**base, **known}))  # type: ignore[arg-type]


CASES: list[tuple[dict[str, object], Status, str]] = [
    ({"agent_state": "retired"}, Status.RETIRED, "Retired by a person."),
    (
        {"session_state": "ended", "state_reason": "Retired by olga."},
        Status.RETIRED,
        "Retired by olga.",
    ),
    ({"session_state": "paused"}, Status.PAUSED, "Paused by a person."),
    ({"agent_state": "paused"}, Status.PAUSED, "The agent is paused. A person resumes it."),
    ({"agent_state": "draft"}, Status.DRAFT, "Defined, and not started yet."),
    (
        {"live_run": "waiting_human", "open_asks": 1},
        Status.WAITING_HUMAN,
        "It waits for an answer. No process is running.",
    ),
    (
        {"live_run": "waiting_human", "open_asks": 2},
        Status.WAITING_HUMAN,
        "It waits for 2 answers. No process is running.",
    ),
    ({"open_asks": 1}, Status.WAITING_HUMAN, "It waits for an answer. No run is under way."),
    ({"live_run": "running"}, Status.RUNNING, "A run is under way."),
    ({"live_run": "queued"}, Status.QUEUED, "A run is queued and starts when a worker is free."),
    ({"wake_at": NOW, "wake_cause": "human"}, Status.DUE, "Due now because of a person."),
    (
        {"wake_at": NOW + HOUR, "wake_cause": "resource"},
        Status.WAITING_RESOURCE,
        "A limit was reached. It continues when that passes.",
    ),
    (
        {"wake_at": NOW + HOUR, "wake_cause": "backoff", "error_streak": 1},
        Status.BACKING_OFF,
        "Failed once. It tries again.",
    ),
    (
        {"wake_at": NOW + HOUR, "wake_cause": "backoff", "error_streak": 3, "failing": True},
        Status.FAILING,
        "Failed 3 times in a row. It tries again by itself.",
    ),
    (
        {
            "session_state": "paused",
            "failing": True,
            "state_reason": "Given up after it failed once.",
        },
        Status.FAILING,
        "Given up after it failed once.",
    ),
    (
        {"agent_state": "paused", "session_state": "paused", "failing": True},
        Status.PAUSED,
        "Paused by a person.",
    ),
    (
        {"live_run": "running", "failing": True},
        Status.RUNNING,
        "A run is under way.",
    ),
    (
        {"wake_at": NOW + HOUR, "wake_cause": "backoff", "idle_streak": 3},
        Status.BACKING_OFF,
        "Found nothing to do 3 times in a row. It looks again later.",
    ),
    (
        {"wake_at": NOW + HOUR, "wake_cause": "schedule"},
        Status.SCHEDULED,
        "Starts again by its schedule.",
    ),
    (
        {"wake_cause": "blocked"},
        Status.BLOCKED,
        "It reports being blocked without asking. Send it a message.",
    ),
    ({"wake_cause": "event"}, Status.WAITING_EVENT, "Starts when a message names it."),
    ({"wake_cause": "manual"}, Status.MANUAL, "You start it."),
]


@pytest.mark.parametrize(("known", "status", "reason"), CASES, ids=range(len(CASES)))
def test_each_status_with_its_reason(known: dict[str, object], status: Status, reason: str) -> None:
    assert of(**known) == DerivedStatus(status, reason)


PRECEDENCE = ["agent_state", "session_state", "live_run", "wake_at"]


def test_the_agent_comes_before_the_run_and_the_run_before_the_wake() -> None:
    everything: dict[str, object] = {
        "agent_state": "retired",
        "session_state": "paused",
        "live_run": "running",
        "wake_at": NOW,
        "wake_cause": "human",
    }
    expected = [Status.RETIRED, Status.PAUSED, Status.RUNNING, Status.DUE]
    for name, status in zip(PRECEDENCE, expected, strict=True):
        assert of(**everything).status == status
        everything.pop(name)
