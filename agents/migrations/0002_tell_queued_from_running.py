"""Give sessions whose run is queued a status of their own. They were stored as running."""

from __future__ import annotations

from django.db import migrations, models

STATUSES = (
    ("WAITING_HUMAN", "Waiting for you"),
    ("BLOCKED", "Blocked"),
    ("QUEUED", "Queued"),
    ("RUNNING", "Running"),
    ("DUE", "Due"),
    ("WAITING_RESOURCE", "Waiting for a limit"),
    ("BACKING_OFF", "Backing off"),
    ("SCHEDULED", "Scheduled"),
    ("WAITING_EVENT", "Waiting for a message"),
    ("MANUAL", "Manual"),
    ("PAUSED", "Paused"),
    ("RETIRED", "Retired"),
    ("DRAFT", "Draft"),
)

_TELL_APART = """
UPDATE agents_session SET status = 'QUEUED'
FROM agents_run run
WHERE run.session_id = agents_session.id AND run.status = 'queued'
  AND agents_session.status = 'RUNNING'
"""
_AS_BEFORE = "UPDATE agents_session SET status = 'RUNNING' WHERE status = 'QUEUED'"


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="session",
            name="status",
            field=models.CharField(choices=STATUSES, default="MANUAL", max_length=20),
        ),
        migrations.RunSQL(_TELL_APART, _AS_BEFORE),
    ]
