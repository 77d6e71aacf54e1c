"""Check whether workers are alive."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from procrastinate.contrib.django.models import ProcrastinateWorker


def is_worker_alive() -> bool:
    """Whether any worker on any machine has sent a heartbeat lately."""
    return ProcrastinateWorker.objects.filter(last_heartbeat__gt=Now() - worker_silence()).exists()


def worker_silence() -> timedelta:
    """Return how long a worker may be silent before it counts as dead."""
    return timedelta(seconds=settings.PROCRASTINATE_WORKER_DEFAULTS["stalled_worker_timeout"])
