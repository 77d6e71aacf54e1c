"""Fill ``Ask.verdict``: until now, an ask had one verdict at most."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("asks", "0009_take_verdicts_back")]

    operations = [
        migrations.RunSQL(
            sql="""
                UPDATE asks_ask SET verdict_id = asks_verdict.id
                FROM asks_verdict WHERE asks_verdict.ask_id = asks_ask.id
            """,
            reverse_sql=migrations.RunSQL.noop,
        )
    ]
