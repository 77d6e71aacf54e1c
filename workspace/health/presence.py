"""What a session's stored status comes to now, with or without a worker."""

from __future__ import annotations

from django.utils import timezone

from agents.models import Session
from agents.status import DerivedStatus, StoredStatus, present_status
from workspace.health.look import recent_health


def status_now(session: Session) -> DerivedStatus:
    """Return a session's status and reason as they are true now. No query of its own."""
    stored = StoredStatus(
        status=session.status,
        reason=session.status_reason,
        wake_at=session.wake_at,
        wake_cause=session.wake_cause,
    )
    alive = recent_health().worker_is_alive
    return present_status(stored, now=timezone.now(), worker_is_alive=alive)
