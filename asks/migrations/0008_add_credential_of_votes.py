"""A vote names the API key with which it was cast."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("asks", "0007_guard_moves_of_grants")]

    operations = [
        migrations.AddField(
            model_name="vote",
            name="credential",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The API key, as key:12.",
                max_length=40,
            ),
        ),
    ]
