"""A session knows since when its failures are a matter for its owner."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0002_tell_queued_from_running'),
    ]

    operations = [
        migrations.AddField(
            model_name='session',
            name='failing_since',
            field=models.DateTimeField(blank=True, help_text='Since when a person must act: it cannot start, keeps failing or was given up.', null=True),
        ),
        migrations.AlterField(
            model_name='session',
            name='status',
            field=models.CharField(choices=[('WAITING_HUMAN', 'Waiting for you'), ('BLOCKED', 'Blocked'), ('FAILING', 'Failing'), ('QUEUED', 'Queued'), ('RUNNING', 'Running'), ('DUE', 'Due'), ('WAITING_RESOURCE', 'Waiting for a limit'), ('BACKING_OFF', 'Backing off'), ('SCHEDULED', 'Scheduled'), ('WAITING_EVENT', 'Waiting for a message'), ('MANUAL', 'Manual'), ('PAUSED', 'Paused'), ('RETIRED', 'Retired'), ('DRAFT', 'Draft')], default='MANUAL', max_length=20),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('failing_since__isnull', False)), fields=['agent'], name='sessions_that_fail'),
        ),
    ]
