"""The only writer of a run's status and of a session's standing. Both under the session's lock."""

from __future__ import annotations

from typing import Any

from agents import clock
from agents.lifecycle import LIVE_RUNS, RUN_MOVES, RunStatus
from agents.models import Run, Session
from agents.status import Facts, Standing, standing


class IllegalMove(Exception):
    """A run was asked to move along no edge of the table."""


def move(run: Run, to: RunStatus, **fields: Any) -> None:
    """Move a run, with fields that change in the same statement. Raises IllegalMove."""
    if to not in RUN_MOVES[RunStatus(run.status)]:
        raise IllegalMove(f"Run {run.pk} cannot go from {run.status} to {to}.")
    if to != RunStatus.RUNNING:
        fields["lease_until"] = None
    if to not in LIVE_RUNS:
        fields.setdefault("ended_at", clock.now())
    fields["status"] = to
    for name, value in fields.items():
        setattr(run, name, value)
    run.save(update_fields=list(fields))


def live_run(session: Session) -> Run | None:
    """The one live run of a locked session."""
    return Run.objects.filter(session=session, status__in=LIVE_RUNS).first()


def restate(session: Session) -> Standing:
    """Store the standing that the session's facts give now, with every other changed fact of it."""
    session.moved_at = clock.now()
    found = standing(facts_of(session))
    session.status, session.status_reason = found.status, found.reason
    session.save(update_fields=_FACTS)
    return found


def facts_of(session: Session) -> Facts:
    """What the session's status depends on, as of ``moved_at``."""
    run = live_run(session)
    return Facts(
        agent_state=session.agent.lifecycle,
        session_state=session.state,
        state_reason=session.state_reason,
        live_run=run.status if run else "",
        open_asks=session.open_asks,
        wake_at=session.wake_at,
        wake_cause=session.wake_cause,
        idle_streak=session.idle_streak,
        error_streak=session.error_streak,
        now=session.moved_at,
    )


_FACTS = [
    "state",
    "state_reason",
    "status",
    "status_reason",
    "moved_at",
    "wake_at",
    "wake_cause",
    "idle_streak",
    "error_streak",
    "last_outcome",
    "run_count",
    "gate_count",
    "open_asks",
    "external_id",
    "data",
]
