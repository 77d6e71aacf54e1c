"""A grant ends when its agent is edited."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("asks", "0010_name_the_verdict_of_each_ask")]

    operations = [
        migrations.AlterField(
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
                    ("edited", "What the agent is or how it runs was changed."),
                    ("upgraded", "It is from an older version, in which an approval had no end."),
                ],
                db_default="",
                default="",
                max_length=12,
            ),
        ),
    ]
