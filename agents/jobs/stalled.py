"""Put the jobs of dead workers back into the queue, and delete old finished jobs.

The queue does neither by itself. No run depends on this: ``agents.jobs.tick`` finds a run whose job is
lost. It keeps the queue's own tables correct.
"""

from __future__ import annotations

from django.db import connection, transaction
from procrastinate import utils
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.manager import JobManager

from agents.jobs import health

DAYS_KEPT = 7
BATCH = 1000

#: Two workers with the same list could retry a job that is running again already. So only one works
#: at a time, and it reads the list and retries the jobs in one transaction.
_ONE_AT_A_TIME = "SELECT pg_try_advisory_xact_lock(hashtext('agents.jobs.stalled'))"
_JOBS_OF_THE_DEAD = """
SELECT job.id FROM procrastinate_jobs job
LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
WHERE job.status = 'doing'
  AND (job.worker_id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %s))
ORDER BY job.id LIMIT %s
FOR UPDATE OF job SKIP LOCKED
"""
#: Each worker that starts also deletes dead workers, in another order. Skip their locks: no deadlock.
_DEAD_WORKERS = """
DELETE FROM procrastinate_workers WHERE id IN (
    SELECT id FROM procrastinate_workers
    WHERE last_heartbeat < now() - make_interval(secs => %s)
    FOR UPDATE SKIP LOCKED)
"""
_FINISHED_LONG_AGO = """
DELETE FROM procrastinate_jobs WHERE id IN (
    SELECT job.id FROM procrastinate_jobs job
    WHERE job.status IN ('succeeded', 'failed', 'cancelled', 'aborted') AND NOT EXISTS (
        SELECT FROM procrastinate_events event
        WHERE event.job_id = job.id AND event.at > now() - make_interval(days => %s))
    ORDER BY job.id LIMIT %s
    FOR UPDATE SKIP LOCKED)
"""


@transaction.atomic
def retry_stalled_jobs() -> int:
    """Retry the jobs of silent workers; return their number, 0 while another worker does this."""
    silence = health.worker_silence().total_seconds()
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_JOBS_OF_THE_DEAD, [silence, BATCH])
        stalled = [row[0] for row in cursor.fetchall()]
        manager = JobManager(DjangoConnector())
        for job_id in stalled:
            manager.retry_job_by_id(job_id, retry_at=utils.utcnow())
        cursor.execute(_DEAD_WORKERS, [silence])
    return len(stalled)


@transaction.atomic
def prune_jobs(days: int = DAYS_KEPT) -> int:
    """Delete up to a batch of jobs that finished more than ``days`` ago; return their number."""
    with connection.cursor() as cursor:
        cursor.execute(_FINISHED_LONG_AGO, [days, BATCH])
        return int(cursor.rowcount)
