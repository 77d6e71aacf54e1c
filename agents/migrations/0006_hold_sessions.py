"""Sessions can be held: nothing starts before a time."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0005_add_agent_version"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="held_until",
            field=models.DateTimeField(
                blank=True,
                help_text="Nothing starts before: until then a person can take an answer back.",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                models.F("held_until"),
                condition=models.Q(("held_until__isnull", False)),
                name="sessions_that_are_held",
            ),
        ),
    ]
