"""Derive a session's status, with a reason in one sentence. A pure function of facts.

The stored status is the value of this function at ``Session.moved_at``; tests check that they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agents.lifecycle import WORKING, AgentState, Cause, RunStatus, SessionState, Status


@dataclass(frozen=True, kw_only=True)
class StatusFacts:
    """All facts that a status depends on. ``live_run`` is the status of the live run, or empty.

    ``held`` is whether nothing starts for now, because a person can still take an answer back.
    """

    agent_state: str
    session_state: str
    state_reason: str = ""
    live_run: str = ""
    open_asks: int = 0
    wake_at: datetime | None = None
    wake_cause: str = ""
    held: bool = False
    idle_streak: int = 0
    error_streak: int = 0
    failing: bool = False
    now: datetime


#: Statuses that end at the time of the wake.
TIMED = frozenset({Status.SCHEDULED, Status.BACKING_OFF, Status.WAITING_RESOURCE})


@dataclass(frozen=True, kw_only=True)
class StoredStatus:
    """A session's status as it was stored when the session last changed, and its wake."""

    status: str
    reason: str
    wake_at: datetime | None = None
    wake_cause: str = ""


@dataclass(frozen=True)
class DerivedStatus:
    status: Status
    reason: str


def derive_status(facts: StatusFacts) -> DerivedStatus:
    """Return the session's status and its reason. The first rule that applies wins."""
    return (
        _of_the_failures(facts) or _of_the_agent(facts) or _of_the_run(facts) or _of_the_wake(facts)
    )


def _of_the_failures(facts: StatusFacts) -> DerivedStatus | None:
    """Of a session that fails, while nothing of it is under way and its agent may start it."""
    if not facts.failing or facts.agent_state != AgentState.ACTIVE:
        return None
    if facts.session_state == SessionState.PAUSED:
        why = facts.state_reason or "Given up after it failed. A person tries it again."
        return DerivedStatus(Status.FAILING, why)
    rests = facts.wake_at is not None and facts.wake_at > facts.now and not facts.live_run
    if facts.session_state == SessionState.ENDED or facts.open_asks or not rests:
        return None
    if facts.wake_cause != Cause.BACKOFF:
        return None
    words = f"Failed {_times(facts.error_streak)}. It tries again by itself."
    return DerivedStatus(Status.FAILING, words)


def _of_the_agent(facts: StatusFacts) -> DerivedStatus | None:
    if facts.agent_state == AgentState.RETIRED or facts.session_state == SessionState.ENDED:
        return DerivedStatus(Status.RETIRED, facts.state_reason or "Retired by a person.")
    if facts.session_state == SessionState.PAUSED:
        return DerivedStatus(Status.PAUSED, facts.state_reason or "Paused by a person.")
    if facts.agent_state == AgentState.PAUSED:
        return DerivedStatus(Status.PAUSED, "The agent is paused. A person resumes it.")
    if facts.agent_state == AgentState.DRAFT:
        return DerivedStatus(Status.DRAFT, "Defined, and not started yet.")
    return None


def _of_the_run(facts: StatusFacts) -> DerivedStatus | None:
    working = facts.live_run in (RunStatus.QUEUED, RunStatus.RUNNING)
    if facts.held and not facts.open_asks and not working:
        return DerivedStatus(Status.SCHEDULED, "Answered. It starts in a few seconds.")
    if facts.live_run == RunStatus.WAITING_HUMAN:
        return DerivedStatus(
            Status.WAITING_HUMAN, f"{_waiting(facts.open_asks)} No process is running."
        )
    if facts.live_run == RunStatus.RUNNING:
        return DerivedStatus(Status.RUNNING, "A run is under way.")
    if facts.live_run == RunStatus.QUEUED:
        return DerivedStatus(Status.QUEUED, "A run is queued and starts when a worker is free.")
    if facts.open_asks:
        return DerivedStatus(
            Status.WAITING_HUMAN, f"{_waiting(facts.open_asks)} No run is under way."
        )
    return None


def _of_the_wake(facts: StatusFacts) -> DerivedStatus:
    if facts.wake_at is None:
        return _asleep(facts)
    if facts.wake_at <= facts.now:
        return DerivedStatus(Status.DUE, f"Due now because of {_because(facts.wake_cause)}.")
    if facts.wake_cause == Cause.RESOURCE:
        return DerivedStatus(
            Status.WAITING_RESOURCE, "A limit was reached. It continues when that passes."
        )
    if facts.wake_cause == Cause.BACKOFF and facts.error_streak:
        return DerivedStatus(
            Status.BACKING_OFF, f"Failed {_times(facts.error_streak)}. It tries again."
        )
    if facts.wake_cause == Cause.BACKOFF:
        return DerivedStatus(
            Status.BACKING_OFF,
            f"Found nothing to do {_times(facts.idle_streak)}. It looks again later.",
        )
    return DerivedStatus(Status.SCHEDULED, f"Starts again by {_because(facts.wake_cause)}.")


def _asleep(facts: StatusFacts) -> DerivedStatus:
    if facts.wake_cause == Cause.BLOCKED:
        return DerivedStatus(
            Status.BLOCKED, "It reports being blocked without asking. Send it a message."
        )
    if facts.wake_cause == Cause.EVENT:
        return DerivedStatus(Status.WAITING_EVENT, "Starts when a message names it.")
    return DerivedStatus(Status.MANUAL, "You start it.")


def present_status(stored: StoredStatus, *, now: datetime, worker_is_alive: bool) -> DerivedStatus:
    """Return what a stored status comes to now: a wake may be past, and no worker may be alive."""
    status, reason = Status(stored.status), stored.reason
    if status in TIMED and stored.wake_at is not None and stored.wake_at <= now:
        status, reason = Status.DUE, f"Due now because of {_because(stored.wake_cause)}."
    if worker_is_alive or status not in WORKING:
        return DerivedStatus(status, reason)
    if status == Status.RUNNING:
        return DerivedStatus(Status.QUEUED, f"Its worker is gone. {_WITHOUT_A_WORKER}")
    return DerivedStatus(Status.QUEUED, _WITHOUT_A_WORKER)


_WITHOUT_A_WORKER = "It waits for a worker, and none runs."


def _waiting(count: int) -> str:
    return "It waits for an answer." if count == 1 else f"It waits for {count} answers."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


def _because(cause: str) -> str:
    return {
        Cause.HUMAN: "a person",
        Cause.MAIL: "another agent's message",
        Cause.SCHEDULE: "its schedule",
        Cause.BACKOFF: "its back-off",
        Cause.RESOURCE: "a limit that passed",
    }.get(Cause(cause) if cause else Cause.SCHEDULE, "its schedule")
