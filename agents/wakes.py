"""Decide when a session is due next, and why. No other module sets ``wake_at`` and ``wake_cause``.

These functions change the session in memory; ``transitions.store_status`` saves it. Causes are
ranked: a wake never replaces a wake of a higher rank, and a person outranks every other cause.
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
#: A back-off grows by up to this fraction, so that agents do not all wake at the same moment.
JITTER = 0.1


def wake_session(session: LockedSession, cause: Cause, at: datetime | None = None) -> None:
    """Make a session due at a time, by default now, unless its present wake ranks higher."""
    at = at or session.locked_at
    if session.wake_at is not None:
        present_rank, rank = CAUSE_RANK[Cause(session.wake_cause)], CAUSE_RANK[cause]
        if rank < present_rank or (rank == present_rank and session.wake_at <= at):
            return
    session.wake_at, session.wake_cause = at, cause


def defer_wake(session: LockedSession, until: datetime) -> None:
    """Defer a session's wake until a shared limit passes. Never call this for a person's wake."""
    _set(session, Cause.RESOURCE, until)


def consume_wake(session: LockedSession) -> Cause:
    """Clear the wake of a session whose run is being queued; return the cause of the wake."""
    cause = Cause(session.wake_cause)
    rest_session(session, resting_cause(session))
    return cause


def clear_due_wake(session: LockedSession) -> None:
    """Clear a wake that is due already: the run that was just claimed handles it."""
    if session.wake_at is not None and session.wake_at <= session.locked_at:
        rest_session(session, resting_cause(session))


def rest_session(session: LockedSession, cause: Cause) -> None:
    """Clear the wake and store why there is none. Raises ValueError if the cause is one that wakes."""
    if cause in WAKING_CAUSES:
        raise ValueError(f"{cause} wakes: it needs a time.")
    session.wake_at, session.wake_cause = None, cause


def is_held(session: LockedSession) -> bool:
    """Whether nothing may start for now, because a person can still take an answer back."""
    return session.held_until is not None and session.held_until > session.locked_at


def end_hold(session: LockedSession) -> None:
    """Let what is held take effect now; call ``queue_next_run`` afterwards."""
    if session.held_until is not None:
        session.held_until = min(session.held_until, session.locked_at)


def is_woken_by_human(session: Session) -> bool:
    """Whether the present wake of a session comes from a person."""
    return session.wake_at is not None and session.wake_cause == Cause.HUMAN


def resting_cause(session: Session) -> Cause:
    """Return why a session without a wake rests, by its agent's wake policy."""
    policy = wake_policy.parse_wake_policy(session.agent.wake_policy)
    return Cause.EVENT if isinstance(policy, OnMessage) else Cause.MANUAL


def set_first_wake(session: LockedSession) -> None:
    """Set the first wake of an active session. Only a home session whose policy wakes it gets one."""
    policy = wake_policy.parse_wake_policy(session.agent.wake_policy)
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        rest_session(session, resting_cause(session))
    elif isinstance(policy, Schedule) and policy.cron:
        wake_session(session, Cause.SCHEDULE, policy.next_after(session.locked_at))
    else:
        wake_session(session, Cause.SCHEDULE)


def follow_new_policy(session: LockedSession) -> None:
    """Set the wake of a session without a live run by the policy that its agent was just given.

    A wake that a person, mail or a limit caused stays, and so does the retry after a failure.
    """
    by_policy = session.wake_at is None or session.wake_cause in (Cause.SCHEDULE, Cause.BACKOFF)
    if session.wake_cause == Cause.BLOCKED or session.error_streak or not by_policy:
        return
    policy = wake_policy.parse_wake_policy(session.agent.wake_policy)
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        rest_session(session, resting_cause(session))
    elif isinstance(policy, Schedule):
        _set(session, Cause.SCHEDULE, policy.next_after(session.locked_at))
    elif session.wake_at is None:
        wake_session(session, Cause.SCHEDULE)


def set_wake_after_turn(
    session: LockedSession, outcome: Outcome, *, limit_passes_at: datetime
) -> None:
    """Update the streaks and set the next wake after a turn. A person's wake since the claim is kept."""
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
    """Set the next wake by the agent's policy. ``settlement`` looks for mail that came meanwhile."""
    policy, now = wake_policy.parse_wake_policy(session.agent.wake_policy), session.locked_at
    if not session.is_home or not isinstance(policy, Continuous | Schedule):
        rest_session(session, resting_cause(session))
    elif isinstance(policy, Schedule):
        _set(session, Cause.SCHEDULE, policy.next_after(now))
    elif outcome == Outcome.WORK_DONE:
        _set(session, Cause.SCHEDULE, now + timedelta(seconds=policy.every_seconds))
    else:
        _set(session, Cause.BACKOFF, now + idle_delay(policy, session.idle_streak))


def _set(session: LockedSession, cause: Cause, at: datetime) -> None:
    session.wake_at, session.wake_cause = at, cause


def _count_streaks(session: LockedSession, outcome: Outcome) -> None:
    failed = outcome == Outcome.RETRYABLE_ERROR
    session.error_streak = session.error_streak + 1 if failed else 0
    if outcome == Outcome.NO_WORK:
        session.idle_streak += 1
    elif outcome == Outcome.WORK_DONE:
        session.idle_streak = 0


def idle_delay(policy: Continuous, streak: int, jitter: float | None = None) -> timedelta:
    """Return base * factor^(streak - 1), capped at the maximum, plus up to a tenth of jitter."""
    grown = policy.idle_base_seconds * policy.idle_factor ** min(max(streak, 1) - 1, 64)
    capped = min(grown, policy.idle_max_seconds)
    share = random.random() if jitter is None else jitter  # noqa: S311 -- not a secret
    return timedelta(seconds=capped * (1 + JITTER * share))


def error_delay(streak: int) -> timedelta:
    """Return 30 seconds, doubled for each further failure, at most 15 minutes."""
    doublings = min(max(streak, 1) - 1, 16)
    return min(ERROR_BASE * (1 << doublings), ERROR_MAX)
