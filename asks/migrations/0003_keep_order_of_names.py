"""The order in which an agent named its arguments is kept beside them: jsonb stores none."""

from django.db import migrations, models


def _order() -> models.JSONField:
    empty = models.Value({}, models.JSONField())
    return models.JSONField(blank=True, db_default=empty, default=dict, editable=False)


class Migration(migrations.Migration):
    dependencies = [("asks", "0002_options_belong_to_their_ask")]

    operations = [
        migrations.AddField(model_name="ask", name="context_order", field=_order()),
        migrations.AddField(model_name="gate", name="params_order", field=_order()),
    ]
