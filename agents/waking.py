"""When a session is due next, and why. The only writer of ``wake_at`` and ``wake_cause``.

Everything here works on a locked session and leaves the saving to ``moves.restate``.
Causes are ranked: a wake never displaces one of a higher rank, and a human outranks everything.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from agents import wake_policy
from agents.lifecycle import CAUSE_RANK, WAKING_CAUSES, Cause, Outcome
from agents.models import Session
from agents.wake_policy import Continuous, OnMessage, Schedule

ERROR_BASE = timedelta(seconds=30)
ERROR_MAX = timedelta(minutes=15)
LIMIT_PASSES_AFTER = timedelta(hours=1)
#: A back-off is stretched by up to this share, so that agents do not wake in step.
JITTER = 0.1


def wake(session: Session, cause: Cause, at: datetime) -> bool:
    """Make a session due, unless what it waits for ranks higher. True when it took."""
    if session.wake_at is not None:
        standing_rank, rank = CAUSE_RANK[Cause(session.wake_cause)], CAUSE_RANK[cause]
        if rank < standing_rank or (rank == standing_rank and session.wake_at <= at):
            return False
    session.wake_at, session.wake_cause = at, cause
    return True


def defer(session: Session, until: datetime) -> None:
    """Hold a session that a shared limit stops; a person's wake is never held."""
    session.wake_at, session.wake_cause = until, Cause.RESOURCE


def consume(session: Session) -> Cause:
    """Take the wake for a run that starts because of it; what is left is how it rests."""
    cause = Cause(session.wake_cause)
    rest(session, resting_cause(session))
    return cause


def rest(session: Session, cause: Cause) -> None:
    """No wake, and the reason for it."""
    if cause in WAKING_CAUSES:
        raise ValueError(f"{cause} wakes: it needs a time.")
    session.wake_at, session.wake_cause = None, cause


def woken_by_human(session: Session) -> bool:
    return session.wake_at is not None and session.wake_cause == Cause.HUMAN


def resting_cause(session: Session) -> Cause:
    policy = wake_policy.parse(session.agent.wake_policy)
    return Cause.EVENT if isinstance(policy, OnMessage) else Cause.MANUAL


def first(session: Session, now: datetime) -> None:
    """The wake of a session that becomes active: at once for a home session that works by itself."""
    policy = wake_policy.parse(session.agent.wake_policy)
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        rest(session, resting_cause(session))
    elif isinstance(policy, Schedule) and policy.cron:
        wake(session, Cause.SCHEDULE, policy.next_after(now))
    else:
        wake(session, Cause.SCHEDULE, now)


def after_turn(
    session: Session, outcome: Outcome, *, now: datetime, retry_at: datetime | None = None
) -> None:
    """Streaks and the next wake once a turn is over. A human wake since the claim stands."""
    session.last_outcome = outcome
    _count_streaks(session, outcome)
    if woken_by_human(session):
        return
    if outcome == Outcome.BLOCKED:
        rest(session, Cause.BLOCKED)
    elif outcome == Outcome.RATE_LIMITED:
        _wake_after(session, Cause.RESOURCE, retry_at or now + LIMIT_PASSES_AFTER)
    elif outcome == Outcome.RETRYABLE_ERROR:
        _wake_after(session, Cause.BACKOFF, now + _error_delay(session.error_streak))
    else:
        _after_completion(session, outcome, now)


def _after_completion(session: Session, outcome: Outcome, now: datetime) -> None:
    policy = wake_policy.parse(session.agent.wake_policy)
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        _wake_after(session, resting_cause(session), None)
    elif isinstance(policy, Schedule):
        _wake_after(session, Cause.SCHEDULE, policy.next_after(now))
    elif outcome == Outcome.WORK_DONE:
        _wake_after(session, Cause.SCHEDULE, now + timedelta(seconds=policy.every_seconds))
    else:
        _wake_after(session, Cause.BACKOFF, now + idle_delay(policy, session.idle_streak))


def _wake_after(session: Session, cause: Cause, at: datetime | None) -> None:
    """Set the wake that follows from a turn; mail that came meanwhile stands if it is sooner."""
    if at is None:
        if session.wake_at is None:
            rest(session, cause)
    elif session.wake_cause == Cause.MAIL and session.wake_at is not None and cause not in (
        Cause.RESOURCE,
        Cause.BACKOFF,
    ):
        return
    else:
        session.wake_at, session.wake_cause = at, cause


def _count_streaks(session: Session, outcome: Outcome) -> None:
    if outcome == Outcome.RETRYABLE_ERROR:
        session.error_streak += 1
    elif outcome != Outcome.RATE_LIMITED:
        session.error_streak = 0
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


def _error_delay(streak: int) -> timedelta:
    return min(ERROR_BASE * 2 ** min(max(streak, 1) - 1, 16), ERROR_MAX)
