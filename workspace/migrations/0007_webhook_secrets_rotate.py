from django.db import migrations, models


class Migration(migrations.Migration):
    """While a webhook's secret is changed, the one before signs too."""

    dependencies = [
        ("workspace", "0006_eve_sessions"),
    ]

    operations = [
        migrations.AddField(
            model_name="webhookendpoint",
            name="former_secret",
            field=models.CharField(blank=True, max_length=120),
        ),
        migrations.AddField(
            model_name="webhookendpoint",
            name="former_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
