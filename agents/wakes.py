"""When a session is due next, and why. The only writer of ``wake_at`` and ``wake_cause``.

Everything here works on a locked session and leaves the saving to ``moves.restate``.
Causes are ranked: a wake never displaces one of a higher rank, and a human outranks everything.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from agents import wake_policy
from agents.lifecycle import CAUSE_RANK, WAKING_CAUSES, Cause, Outcome
from agents.locking import LockedSession
from agents.models import Session
from agents.wake_policy import Continuous, OnMessage, Schedule

ERROR_BASE = timedelta(seconds=30)
ERROR_MAX = timedelta(minutes=15)
LIMIT_PASSES_AFTER = timedelta(hours=1)
#: A back-off is stretched by up to this share, so that agents do not wake in step.
JITTER = 0.1


def wake_session(session: LockedSession, cause: Cause, at: datetime | None = None) -> None:
    """Make a session due, at once or at a time, unless what it waits for ranks higher."""
    at = at or session.locked_at
    if session.wake_at is not None:
        standing_rank, rank = CAUSE_RANK[Cause(session.wake_cause)], CAUSE_RANK[cause]
        if rank < standing_rank or (rank == standing_rank and session.wake_at <= at):
            return
    session.wake_at, session.wake_cause = at, cause


def defer_wake(session: Session, until: datetime) -> None:
    """Hold a session that a shared limit stops; a person's wake is never held."""
    _set(session, Cause.RESOURCE, until)


def consume_wake(session: Session) -> Cause:
    """Take the wake for a run that starts because of it; what is left is how it rests."""
    cause = Cause(session.wake_cause)
    rest_session(session, resting_cause(session))
    return cause


def satisfied(session: LockedSession) -> None:
    """A run is claimed: whatever the session was woken for until now, that run carries."""
    if session.wake_at is not None and session.wake_at <= session.locked_at:
        rest_session(session, resting_cause(session))


def rest_session(session: Session, cause: Cause) -> None:
    """No wake, and the reason for it."""
    if cause in WAKING_CAUSES:
        raise ValueError(f"{cause} wakes: it needs a time.")
    session.wake_at, session.wake_cause = None, cause


def is_woken_by_human(session: Session) -> bool:
    return session.wake_at is not None and session.wake_cause == Cause.HUMAN


def resting_cause(session: Session) -> Cause:
    policy = wake_policy.parse_wake_policy(session.agent.wake_policy)
    return Cause.EVENT if isinstance(policy, OnMessage) else Cause.MANUAL


def set_first_wake(session: LockedSession) -> None:
    """The wake of a session that becomes active: at once for a home session that works by itself."""
    policy = wake_policy.parse_wake_policy(session.agent.wake_policy)
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        rest_session(session, resting_cause(session))
    elif isinstance(policy, Schedule) and policy.cron:
        wake_session(session, Cause.SCHEDULE, policy.next_after(session.locked_at))
    else:
        wake_session(session, Cause.SCHEDULE)


def set_wake_after_turn(
    session: LockedSession, outcome: Outcome, *, limit_passes_at: datetime
) -> None:
    """Streaks and the next wake once a turn is over. A human wake since the claim stands."""
    session.last_outcome = outcome
    _count_streaks(session, outcome)
    if is_woken_by_human(session):
        return
    if outcome == Outcome.BLOCKED:
        rest_session(session, Cause.BLOCKED)
    elif outcome == Outcome.RATE_LIMITED:
        _set(session, Cause.RESOURCE, limit_passes_at)
    elif outcome == Outcome.RETRYABLE_ERROR:
        _set(session, Cause.BACKOFF, session.locked_at + error_delay(session.error_streak))
    else:
        _after_completion(session, outcome)


def _after_completion(session: LockedSession, outcome: Outcome) -> None:
    """By the agent's policy. Mail that came meanwhile is looked for by whoever settles the turn."""
    policy, now = wake_policy.parse_wake_policy(session.agent.wake_policy), session.locked_at
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        rest_session(session, resting_cause(session))
    elif isinstance(policy, Schedule):
        _set(session, Cause.SCHEDULE, policy.next_after(now))
    elif outcome == Outcome.WORK_DONE:
        _set(session, Cause.SCHEDULE, now + timedelta(seconds=policy.every_seconds))
    else:
        _set(session, Cause.BACKOFF, now + idle_delay(policy, session.idle_streak))


def _set(session: Session, cause: Cause, at: datetime) -> None:
    session.wake_at, session.wake_cause = at, cause


def _count_streaks(session: Session, outcome: Outcome) -> None:
    failed = outcome == Outcome.RETRYABLE_ERROR
    session.error_streak = session.error_streak + 1 if failed else 0
    if outcome == Outcome.NO_WORK:
        session.idle_streak += 1
    elif outcome == Outcome.WORK_DONE:
        session.idle_streak = 0


def idle_delay(policy: Continuous, streak: int, jitter: float | None = None) -> timedelta:
    """base · factor^(streak-1), at most max, stretched by up to a tenth."""
    grown = policy.idle_base_seconds * policy.idle_factor ** min(max(streak, 1) - 1, 64)
    capped = min(grown, policy.idle_max_seconds)
    share = random.random() if jitter is None else jitter  # noqa: S311 -- not a secret
    return timedelta(seconds=capped * (1 + JITTER * share))


def error_delay(streak: int) -> timedelta:
    """30 seconds, doubled by every further failure, a quarter of an hour at most."""
    doublings = min(max(streak, 1) - 1, 16)
    return min(ERROR_BASE * (1 << doublings), ERROR_MAX)
