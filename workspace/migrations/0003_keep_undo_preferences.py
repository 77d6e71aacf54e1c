"""How long each person can take an answer back."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('workspace', '0002_say_how_steps_are_shown'),
    ]

    operations = [
        migrations.CreateModel(
            name='UndoPreference',
            fields=[
                ('person', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='undo_preference', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('seconds', models.PositiveSmallIntegerField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('seconds__lte', 30)), name='an_undo_window_is_30_seconds_at_most')],
            },
        ),
    ]
