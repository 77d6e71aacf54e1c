"""A verdict and a vote name an option of their own ask: foreign keys over both columns.

Django has no foreign keys of two columns.
"""

from django.db import migrations


def _foreign_key(table: str, name: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} ADD CONSTRAINT {name}
            FOREIGN KEY (ask_id, option_id) REFERENCES asks_option (ask_id, id)
        """,
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    replaces = [("asks", "0002_verdicts_name_an_option_of_their_ask")]

    dependencies = [("asks", "0001_initial")]

    operations = [_foreign_key("asks_verdict", "verdicts_name_an_option_of_their_ask"), _foreign_key("asks_vote", "votes_name_an_option_of_their_ask")]
