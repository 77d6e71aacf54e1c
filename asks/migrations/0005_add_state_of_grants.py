"""A grant has a state, the turn that it was given to, and an end."""

import django.contrib.postgres.fields
import django.db.models.deletion
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0001_initial"),
        ("asks", "0004_know_same_questions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="grants_never_change",
        ),
        migrations.AddField(
            model_name="grant",
            name="credentials",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40),
                blank=True,
                db_default=models.Value(
                    [],
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), size=None
                    ),
                ),
                default=list,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="end",
            field=models.CharField(
                blank=True,
                choices=[
                    ("turn_over", "The turn that it was given to is over."),
                    ("message", "A person wrote to the session."),
                    ("stopped", "The turn was stopped."),
                    ("ended", "The session ended."),
                    ("policy", "A newer policy is in force."),
                    ("asked_again", "The agent asked again."),
                    ("files", "A file that it covers has changed."),
                    ("person", "Somebody who approved it may not answer for this agent any more."),
                    ("delegation", "The delegation with which it was approved is over."),
                    ("key", "The key with which it was approved was revoked."),
                    ("expired", "It was not used in time."),
                    ("taken_back", "A person took it back."),
                    ("upgraded", "It is from an older version, in which an approval had no end."),
                ],
                db_default="",
                default="",
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="ended_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="grant",
            name="ended_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="grants_ended",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="expires_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="grant",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="grants",
                to="agents.run",
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="state",
            field=models.CharField(
                choices=[
                    ("minted", "May run once"),
                    ("taken", "Taken"),
                    ("used", "Used"),
                    ("lapsed", "Lapsed"),
                    ("withdrawn", "Taken back"),
                ],
                db_default="minted",
                default="minted",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="effect",
            name="end",
            field=models.CharField(
                choices=[
                    ("done", "It happened"),
                    ("failed", "It did not happen"),
                    ("unknown", "It may or may not have happened"),
                    ("handed", "It was handed to the agent"),
                ],
                max_length=8,
            ),
        ),
    ]
