"""A response says how its steps are shown: a third way has joined messages and function calls."""

from typing import Any

from django.db import migrations, models


def _keep_messages(apps: Any, schema_editor: Any) -> None:
    apps.get_model("workspace", "Response").objects.filter(commentary=True).update(steps="commentary")


def _bring_back(apps: Any, schema_editor: Any) -> None:
    """Neither messages nor reasoning may turn into calls."""
    apps.get_model("workspace", "Response").objects.exclude(steps="calls").update(commentary=True)


class Migration(migrations.Migration):
    dependencies = [("workspace", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="response",
            name="steps",
            field=models.CharField(choices=[("calls", "Function calls"), ("reasoning", "Summaries of the agent's reasoning"), ("commentary", "Messages")], default="calls", max_length=12),
        ),
        migrations.RunPython(_keep_messages, _bring_back),
        migrations.RemoveField(model_name="response", name="commentary"),
    ]
