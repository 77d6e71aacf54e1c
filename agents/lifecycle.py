"""Define the states of agents, sessions and runs, and their legal transitions. No models here.

Run statuses and their legal transitions:

    queued -> running            claimed by a worker
    queued -> cancelled          stopped by a person before it started
    running -> running           taken over: same status, next epoch
    running -> queued            returned by a worker that shuts down
    running -> waiting_human     the turn ended with an open ask
    running -> continued         the turn ended with an open ask, but a person has answered meanwhile
    running -> completed         the turn ended without an open ask
    running -> failed            the turn failed; its inbox items are queued again
    running -> cancelled         stopped by a person
    waiting_human -> continued   released by an answer, a withdrawal, an expiry or a person's message
    waiting_human -> cancelled   stopped by a person
"""

from __future__ import annotations

from django.db import models


class AgentState(models.TextChoices):
    DRAFT = "draft", "Draft"
    ACTIVE = "active", "Active"
    PAUSED = "paused", "Paused"
    RETIRED = "retired", "Retired"


class SessionState(models.TextChoices):
    ACTIVE = "active", "Active"
    PAUSED = "paused", "Paused"
    ENDED = "ended", "Ended"


class RunStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    WAITING_HUMAN = "waiting_human", "Waiting for a person"
    CONTINUED = "continued", "Continued"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


LIVE_RUNS = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING_HUMAN)

RUN_MOVES: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    RunStatus.RUNNING: frozenset(
        {
            RunStatus.RUNNING,
            RunStatus.QUEUED,
            RunStatus.WAITING_HUMAN,
            RunStatus.CONTINUED,
            RunStatus.COMPLETED,
            RunStatus.FAILED,
            RunStatus.CANCELLED,
        }
    ),
    RunStatus.WAITING_HUMAN: frozenset({RunStatus.CONTINUED, RunStatus.CANCELLED}),
    RunStatus.CONTINUED: frozenset(),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
}


class Outcome(models.TextChoices):
    """How a turn went, as the agent reports it. Without a report it is ``NO_WORK``."""

    WORK_DONE = "WORK_DONE", "Work done"
    NO_WORK = "NO_WORK", "No work"
    BLOCKED = "BLOCKED", "Blocked"
    RATE_LIMITED = "RATE_LIMITED", "Rate limited"
    RETRYABLE_ERROR = "RETRYABLE_ERROR", "Retryable error"


#: The turn ran to its end: its inbox items are acknowledged.
COMPLETED_OUTCOMES = frozenset({Outcome.WORK_DONE, Outcome.NO_WORK, Outcome.BLOCKED})


class Cause(models.TextChoices):
    """Why a session is due, or why it is not: ``MANUAL``, ``EVENT`` and ``BLOCKED``."""

    HUMAN = "human", "A person"
    MAIL = "mail", "Another agent's message"
    SCHEDULE = "schedule", "Its schedule"
    BACKOFF = "backoff", "Back-off"
    RESOURCE = "resource", "A limit that passes"
    MANUAL = "manual", "Only a person starts it"
    EVENT = "event", "Waits for a message"
    BLOCKED = "blocked", "Says it is blocked"


#: A wake never replaces a wake of a higher rank. A person outranks every other cause.
CAUSE_RANK: dict[Cause, int] = {
    Cause.HUMAN: 4,
    Cause.RESOURCE: 3,
    Cause.MAIL: 2,
    Cause.SCHEDULE: 1,
    Cause.BACKOFF: 1,
    Cause.MANUAL: 0,
    Cause.EVENT: 0,
    Cause.BLOCKED: 0,
}

#: Causes that come with a time. The others explain why there is no wake.
WAKING_CAUSES = frozenset({Cause.HUMAN, Cause.MAIL, Cause.SCHEDULE, Cause.BACKOFF, Cause.RESOURCE})


class Status(models.TextChoices):
    """A session's status as its owner sees it. Only ``YOU_ARE_THE_BLOCKER`` may badge, count or notify."""

    WAITING_HUMAN = "WAITING_HUMAN", "Waiting for you"
    BLOCKED = "BLOCKED", "Blocked"
    FAILING = "FAILING", "Failing"
    QUEUED = "QUEUED", "Queued"
    RUNNING = "RUNNING", "Running"
    DUE = "DUE", "Due"
    WAITING_RESOURCE = "WAITING_RESOURCE", "Waiting for a limit"
    BACKING_OFF = "BACKING_OFF", "Backing off"
    SCHEDULED = "SCHEDULED", "Scheduled"
    WAITING_EVENT = "WAITING_EVENT", "Waiting for a message"
    MANUAL = "MANUAL", "Manual"
    PAUSED = "PAUSED", "Paused"
    RETIRED = "RETIRED", "Retired"
    DRAFT = "DRAFT", "Draft"


YOU_ARE_THE_BLOCKER = frozenset({Status.WAITING_HUMAN, Status.BLOCKED, Status.FAILING})
#: They wait for a worker, not for a person.
WAITING_FOR_A_WORKER = frozenset({Status.QUEUED, Status.DUE})
WORKING = WAITING_FOR_A_WORKER | {Status.RUNNING}
NOTHING_IS_WRONG = frozenset(Status) - YOU_ARE_THE_BLOCKER - WORKING


class InboxKind(models.TextChoices):
    VERDICT = "verdict", "Verdict"
    MESSAGE = "message", "A person's message"
    MAIL = "mail", "Another agent's message"


class InboxState(models.TextChoices):
    QUEUED = "queued", "Queued"
    LEASED = "leased", "Leased"
    ACKED = "acked", "Carried"
    DEAD = "dead", "Given up"
