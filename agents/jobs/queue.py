"""The dispatch service's queue jobs. A job is a wake-up only: the run's row is the truth.

Jobs are enqueued through ``enqueue_run`` alone. A plain ``task.defer()`` is not part of the caller's
transaction inside a worker, so a job would survive its transaction's rollback.
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
    """Look at one run: carry it if it is there to be claimed. Doubled and late jobs do nothing.

    The worker brings the Carrier along as ``additional_context["carrier"]``.
    """
    await context.additional_context["carrier"].carry(run_id)


def enqueue_run(run_id: int) -> None:
    """Wake a worker for a run, in the caller's transaction wherever it runs."""
    tasks.configure_task(
        name=DISPATCH, job_manager=JobManager(DjangoConnector()), queue=QUEUE
    ).defer(run_id=run_id)
