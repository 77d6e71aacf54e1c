"""A key of a person may hold the scope with which agents are changed."""

import django.contrib.postgres.fields
from django.db import migrations, models

SCOPES = [
    ("run:create", "Start runs"),
    ("run:read", "Read sessions, runs and asks"),
    ("ask:create", "Raise asks"),
    ("ask:answer", "Answer and withdraw asks"),
]
MORE = [*SCOPES, ("agent:edit", "Connect and change agents")]


def _known(scopes: list[tuple[str, str]]) -> models.CheckConstraint:
    condition = models.Q(("scopes__contained_by", [name for name, _ in scopes]), models.Q(("scopes", []), _negated=True))
    return models.CheckConstraint(condition=condition, name="scopes_are_known")


class Migration(migrations.Migration):
    dependencies = [("workspace", "0003_keep_undo_preferences")]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=MORE, max_length=16), size=None
            ),
        ),
        migrations.RemoveConstraint(model_name="apikey", name="scopes_are_known"),
        migrations.AddConstraint(model_name="apikey", constraint=_known(MORE)),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("scopes__contains", ["agent:edit"]), _negated=True), ("person__isnull", False), _connector="OR"),
                name="only_a_person_changes_agents",
            ),
        ),
    ]
