import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Whom an ask is escalated to may answer it; and people say when they are there."""

    dependencies = [
        ("asks", "0009_each_decision_is_recorded_once"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="ask",
            name="escalated_to",
            field=models.ForeignKey(
                blank=True,
                help_text="Who may answer too, since it has waited too long.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="escalated_asks",
                to="auth.group",
            ),
        ),
        migrations.AddIndex(
            model_name="ask",
            index=models.Index(
                condition=models.Q(("escalated_to__isnull", False)),
                fields=["escalated_to"],
                name="asks_that_are_escalated",
            ),
        ),
        migrations.CreateModel(
            name="PersonalHours",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="personal_hours",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("zone", models.CharField(max_length=64)),
                (
                    "days",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=3), size=None
                    ),
                ),
                ("opens", models.TimeField()),
                ("closes", models.TimeField()),
            ],
            options={
                "verbose_name_plural": "personal hours",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("opens__lt", models.F("closes")),
                            models.Q(("days", []), _negated=True),
                            models.Q(("zone", ""), _negated=True),
                        ),
                        name="they_open_before_they_close",
                    )
                ],
            },
        ),
    ]
