"""An agent counts its edits, so that two at once are noticed."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_mark_failing_sessions'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='version',
            field=models.PositiveIntegerField(default=1, help_text='Counts its edits, so that two at once are noticed.'),
        ),
    ]
