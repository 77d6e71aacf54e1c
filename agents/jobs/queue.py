"""The job that makes a worker look at a run. It is only a wake-up: the run's row is authoritative.

Enqueue jobs only with ``enqueue_run``. Inside a worker, a plain ``task.defer()`` is not part of the
caller's transaction, so the job would survive a rollback.
"""

from __future__ import annotations

from procrastinate import JobContext, tasks
from procrastinate.contrib.django import app
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.manager import JobManager

QUEUE = "runs"
DISPATCH = "agents.running.runner"


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
