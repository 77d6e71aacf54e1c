"""The jobs that make a worker look at a run or a session. They only wake it: the rows are authoritative.

Enqueue jobs only with ``enqueue_run`` and ``enqueue_session``. Inside a worker, a plain
``task.defer()`` is not part of the caller's transaction, so the job would survive a rollback.
"""

from __future__ import annotations

from datetime import datetime

from procrastinate import JobContext, tasks
from procrastinate.contrib.django import app
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.manager import JobManager

QUEUE = "runs"
DISPATCH = "agents.running.runner"
START = "agents.running.start"


@app.task(name=DISPATCH, queue=QUEUE, pass_context=True)
async def dispatch(context: JobContext, run_id: int) -> None:
    """Carry one run if it can be claimed. Duplicate and late jobs do nothing.

    The worker passes its ``Runner`` as ``additional_context["carrier"]``.
    """
    await context.additional_context["carrier"].carry(run_id)


def enqueue_run(run_id: int) -> None:
    """Enqueue a job for a run, as part of the caller's transaction."""
    tasks.configure_task(
        name=DISPATCH, job_manager=JobManager(DjangoConnector()), queue=QUEUE
    ).defer(run_id=run_id)


@app.task(name=START, queue=QUEUE, pass_context=True)
async def start(context: JobContext, session_id: int) -> None:
    """Start a session if it is due. Duplicate, early and late jobs do nothing."""
    await context.additional_context["carrier"].start(session_id)


def enqueue_session(session_id: int, *, at: datetime) -> None:
    """Enqueue a job for a session that may start at a time, as part of the caller's transaction."""
    tasks.configure_task(
        name=START, job_manager=JobManager(DjangoConnector()), queue=QUEUE, schedule_at=at
    ).defer(session_id=session_id)
